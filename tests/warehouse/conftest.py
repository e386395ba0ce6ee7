"""A filled home, built once, and copies of it for tests that write."""

import importlib.util
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import duckdb
import polars as pl
import pytest

from warehouse.connect import WRITER_FILE

FIXTURES = Path(__file__).parent / "fixtures"


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def make() -> ModuleType:
    """The builder of corpora, cards, estimates and filled homes."""
    return _load(FIXTURES / "make_fixture.py")


@pytest.fixture(scope="session")
def filled(make: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A filled home; tests only read it."""
    home = tmp_path_factory.mktemp("filled") / "home"
    make.fill(home)
    return home


@pytest.fixture
def home(filled: Path, tmp_path: Path) -> Path:
    """A filled home of one's own."""
    return Path(shutil.copytree(filled, tmp_path / "home"))


@pytest.fixture
def writer_rows() -> Callable[[Path, str], list[tuple]]:
    """Rows of a query on the writer's file itself."""

    def rows(home: Path, sql: str) -> list[tuple]:
        with opened(home / WRITER_FILE) as con:
            return con.execute(sql).fetchall()

    return rows


@contextmanager
def opened(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    con = duckdb.connect(str(path), read_only=True)
    try:
        yield con
    finally:
        con.close()


@pytest.fixture
def table_counts() -> Callable[[Path], dict[str, int]]:
    """Number of rows of every table of the writer's file."""

    def counts(home: Path) -> dict[str, int]:
        with opened(home / WRITER_FILE) as con:
            tables = con.execute("SELECT table_name FROM duckdb_tables() WHERE NOT internal").fetchall()
            return {table: con.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0] for (table,) in tables}

    return counts


@pytest.fixture(autouse=True)
def _wide_tables() -> Iterator[None]:
    with pl.Config(tbl_cols=-1):
        yield
