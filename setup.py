"""Lists the packages: the folder studies/ ships inside the package flows, as flows/studies."""

from setuptools import find_packages, setup

OURS = ["infosedd*", "connectors*", "warehouse*", "flows*"]

setup(
    packages=[*find_packages(include=OURS), "flows.studies"],
    package_dir={"flows.studies": "studies"},
)
