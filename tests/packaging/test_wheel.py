"""A wheel, installed elsewhere, runs the study that ships; and it holds every package and data file."""

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow


def run(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("INFOSEDD_", "PREFECT_"))}
    return subprocess.run(
        arguments, cwd=cwd, env=kept | environment, capture_output=True, text=True, check=False, timeout=900
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a copy of what git tracks, so that no build folder is left here."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    tracked = run("git", "ls-files", "-z", cwd=ROOT).stdout.split("\0")
    for name in filter(None, tracked):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    built = run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(out), ".", cwd=source)
    assert built.returncode == 0, built.stderr
    return next(out.glob("infosedd-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("installed")
    result = run(
        sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), str(wheel), cwd=folder
    )
    assert result.returncode == 0, result.stderr
    yield folder


def test_the_wheel_holds_every_package_and_data_file(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())
    tracked = run("git", "ls-files", "infosedd", "flows", "connectors", "warehouse", cwd=ROOT).stdout.split()
    assert {name for name in tracked if (ROOT / name).is_file()} - held == set()
    assert {f"flows/studies/{path.name}" for path in (ROOT / "studies").glob("*.toml")} <= held


def test_the_entry_point_is_the_command(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel)
    entry = next(name for name in names.namelist() if name.endswith("entry_points.txt"))
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert f"infosedd = {scripts['infosedd']}" in names.read(entry).decode()


def test_an_installed_wheel_runs_the_study_that_ships(installed: Path, tmp_path: Path) -> None:
    where = run(
        sys.executable, "-c", "import infosedd, flows; print(infosedd.__file__, flows.__file__)", cwd=tmp_path,
        PYTHONPATH=str(installed),
    )  # fmt: skip
    assert all(path.startswith(str(installed)) for path in where.stdout.split()), where
    command = [sys.executable, "-m", "infosedd", "run", "lac-promoter", "--json", "--home", "home"]
    quick = ["--set", "model.training.steps=20", "--set", "model.members=1", "--set", "measures.1.step=23"]
    result = run(*command, *quick, cwd=tmp_path, PYTHONPATH=str(installed))
    assert result.returncode == 0, result.stderr
    outcome = json.loads(result.stdout)
    assert outcome["corpus"]["n_rows"] == 51853
    assert Path(outcome["report"]).is_file()
