"""Prefect flows and the command ``infosedd``: the only package that imports all the others.

``study`` reads the parameters, ``steps`` holds the plain functions, ``study_flow`` the flow and its
tasks over them, ``cli`` the commands.
"""

PROJECT = "infosedd"
