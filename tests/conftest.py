"""Fixtures that several areas share."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
os.environ.setdefault("DO_NOT_TRACK", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that need a Prefect server share one: with several workers, all go to the same worker."""
    for item in items:
        if item.get_closest_marker("prefect"):
            item.add_marker(pytest.mark.xdist_group("prefect"))


@pytest.fixture(autouse=True)
def _no_settings_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("INFOSEDD_") and name != "INFOSEDD_TEST_DATA":
            monkeypatch.delenv(name)


_FIRST_STATES: dict[str, dict] = {}


@pytest.fixture(autouse=True)
def _same_draws_in_any_order(request: pytest.FixtureRequest) -> None:
    """A module's ``RNG`` starts again for each test, which else draws by what ran before it on its worker."""
    rng = getattr(request.module, "RNG", None)
    if rng is not None:
        rng.bit_generator.state = _FIRST_STATES.setdefault(request.module.__name__, rng.bit_generator.state)


@pytest.fixture(scope="session")
def prefect_server() -> Iterator[None]:
    """A Prefect server with a database of its own, for the whole session."""
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=180):
        yield


@pytest.fixture
def data_folder() -> Path:
    """The folder of data sets that do not ship; a test that needs it is skipped where it is absent."""
    folder = os.environ.get("INFOSEDD_TEST_DATA")
    if not folder:
        pytest.skip("INFOSEDD_TEST_DATA is unset")
    return Path(folder)
