"""Migrations, views and their comments; every released schema migrates to the newest one."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from infosedd.errors import SurroundingsError
from infosedd.results import MEASURES
from warehouse import Warehouse, queries, schema
from warehouse.connect import WRITER_FILE

FIXTURES = sorted((Path(__file__).parent / "fixtures").glob("schema_*.duckdb"))
CONTRACT = {
    "runs": "run_id, study, flow_run_id, status, started_at, finished_at, error, versions",
    "corpora": "corpus_id, name, connector, source_uri, source_sha256, n_sequences, n_dropped, blocks, created_at",
    "score_models": "model_id, corpus_id, process, network, config, n_parameters, train_steps, train_seconds, "
    "held_out_loss_nats, weights_sha256, parent_model_id, path, created_at",
    "estimates": "estimate_id, study, measure, mode, x, y, z, estimator, value_nats, std_error_nats, ci_low_nats, "
    "ci_high_nats, n_samples, corpus_id, model_id, reference_corpus_id, reference_model_id, seed, terminal_kl_nats, "
    "warnings, diagnostics, created_at",
    "run_estimates": "run_id, estimate_id, reused",
    "pointwise": "estimate_id, sequence_index, sequence_id, value_nats",
    "information_profile": "study, corpus_id, mode, x, y, estimator, window_start, window_stop, value_nats, "
    "std_error_nats",
}
CONTRACT["latest_estimates"] = CONTRACT["estimates"] + ", corpus_name, value_bits"


@pytest.fixture(scope="module")
def empty() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    schema.migrate(con, Path("memory"))
    return con


def columns_of(con: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    found = con.execute(
        "SELECT column_name FROM duckdb_columns() WHERE NOT internal AND table_name = ? ORDER BY column_index", [table]
    )
    return [row[0] for row in found.fetchall()]


@pytest.mark.parametrize("relation", CONTRACT)
def test_the_columns_are_those_of_the_contract(empty: duckdb.DuckDBPyConnection, relation: str) -> None:
    assert columns_of(empty, relation) == CONTRACT[relation].split(", ")


def test_every_table_and_view_of_the_contract_is_there(empty: duckdb.DuckDBPyConnection) -> None:
    tables = {r[0] for r in empty.execute("SELECT table_name FROM duckdb_tables() WHERE NOT internal").fetchall()}
    views = {r[0] for r in empty.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()}
    assert set(schema.TABLES) | {"schema_version"} <= tables
    assert {"latest_estimates", "information_profile", "entropy_per_token"} <= views
    assert {"model_lineage", "failed_runs", "run_history"} <= views
    assert views == {view.name for view in schema.views()}


def test_every_table_view_and_column_has_a_comment(empty: duckdb.DuckDBPyConnection) -> None:
    bare = empty.execute(
        "SELECT table_name, '' FROM duckdb_tables() WHERE NOT internal AND coalesce(comment, '') = '' "
        "UNION ALL SELECT view_name, '' FROM duckdb_views() WHERE NOT internal AND coalesce(comment, '') = '' "
        "UNION ALL SELECT table_name, column_name FROM duckdb_columns() "
        "WHERE NOT internal AND coalesce(comment, '') = ''"
    ).fetchall()
    assert bare == []


@pytest.mark.parametrize("view", schema.views(), ids=lambda v: v.name)
def test_every_view_states_grain_key_invariants_and_what_it_reads(view: schema.View) -> None:
    head = view.sql[: view.sql.index("CREATE OR REPLACE VIEW")]
    assert re.findall(r"^-- (\w+): ", head, re.MULTILINE) == ["Grain", "Key", "Invariants", "Reads"]
    assert set(view.reads) == set(re.findall(r"(?:FROM|JOIN) (\w+)", view.sql)) & {
        *schema.TABLES,
        "latest_index",
        *(v.name for v in schema.views()),
    }


def test_numbers_carry_their_unit_in_the_name(empty: duckdb.DuckDBPyConnection) -> None:
    plain = {"error_in_std_errors", "relative_error", "value", "score_value"}  # no unit, or named by a column beside
    found = empty.execute(
        "SELECT DISTINCT column_name FROM duckdb_columns() WHERE NOT internal AND data_type = 'DOUBLE'"
    ).fetchall()
    unit = re.compile(r"_(nats|bits|seconds)(_per_token)?$|^seconds_per_")
    assert [name for (name,) in found if not unit.search(name) and name not in plain] == []


def test_the_known_measures_are_those_of_the_engine() -> None:
    for table in ("estimates", "truths"):
        text = schema.migrations()[0].sql.split(f"CREATE TABLE {table} (")[1].split(");")[0]
        listed = re.search(r"measure IN \((.*?)\)", text, re.DOTALL)
        assert listed is not None
        assert tuple(re.findall(r"'(\w+)'", listed.group(1))) == MEASURES


def test_a_released_migration_is_never_edited() -> None:
    """The fixture says what each migration made; the same migration must still make it."""
    for file in FIXTURES:
        version = int(file.stem.rpartition("_")[2])
        fresh, released = duckdb.connect(), duckdb.connect(str(file), read_only=True)
        schema.migrate(fresh, Path("memory"), stop=version)
        made = (
            "SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns() "
            "WHERE NOT internal AND table_name IN (SELECT table_name FROM duckdb_tables()) ORDER BY ALL"
        )
        assert fresh.execute(made).fetchall() == released.execute(made).fetchall()
        released.close()


def test_there_is_a_fixture_of_every_schema() -> None:
    assert [int(f.stem.rpartition("_")[2]) for f in FIXTURES] == list(range(1, schema.head() + 1))


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda f: f.stem)
def test_every_released_schema_migrates_with_its_rows_intact(fixture: Path, tmp_path: Path, make, writer_rows) -> None:
    con = duckdb.connect(str(fixture), read_only=True)
    tables = [row[0] for row in con.execute("SELECT table_name FROM duckdb_tables() WHERE NOT internal").fetchall()]
    tables = [table for table in tables if not table.startswith("schema_")]
    before = {table: con.execute(f"SELECT * FROM {table} ORDER BY ALL").fetchall() for table in tables}
    columns = {table: columns_of(con, table) for table in tables}
    con.close()
    assert all(before.values())
    home = tmp_path / "home"
    home.mkdir()
    shutil.copyfile(fixture, home / WRITER_FILE)

    assert not Warehouse(home).start_run("run-1", make.STUDY)  # it is there already

    for table in tables:
        names = ", ".join(columns[table])
        assert writer_rows(home, f"SELECT {names} FROM {table} ORDER BY ALL") == before[table]
    assert writer_rows(home, "SELECT max(version) FROM schema_version") == [(schema.head(),)]
    Warehouse(home).publish()
    assert all(queries.run(home, example.sql).height for example in queries.examples())


@pytest.fixture
def two_migrations(tmp_path: Path) -> Path:
    """The migrations of today and one more that adds a column, then fails if a table ``trap`` is there."""
    folder = tmp_path / "migrations"
    shutil.copytree(schema.MIGRATIONS, folder)
    number = schema.head() + 1
    (folder / f"{number:03}_more.sql").write_text(
        "ALTER TABLE estimates ADD COLUMN remark VARCHAR;\n"
        "UPDATE estimates SET remark = 'old';\nCREATE TABLE trap (i INT);"
    )
    return folder


def test_a_migration_is_applied_whole(filled: Path, two_migrations: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.duckdb"
    shutil.copyfile(filled / WRITER_FILE, copy)
    con = duckdb.connect(str(copy))
    n = con.execute("SELECT count(*) FROM estimates").fetchall()
    schema.migrate(con, copy, folder=two_migrations)
    assert schema.version_of(con, copy) == schema.head() + 1
    assert con.execute("SELECT count(*) FROM estimates WHERE remark = 'old'").fetchall() == n
    assert con.execute("SELECT count(*) FROM latest_estimates").fetchall() != [(0,)]


def test_a_migration_that_fails_leaves_nothing(filled: Path, two_migrations: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.duckdb"
    shutil.copyfile(filled / WRITER_FILE, copy)
    con = duckdb.connect(str(copy))
    con.execute("CREATE TABLE trap (i INTEGER)")
    with pytest.raises(duckdb.CatalogException):
        schema.migrate(con, copy, folder=two_migrations)
    assert schema.version_of(con, copy) == schema.head()
    assert "remark" not in columns_of(con, "estimates")


def test_a_kill_right_after_a_migration_leaves_a_file_that_opens(
    filled: Path, two_migrations: Path, tmp_path: Path
) -> None:
    """The log of the migration must replay in a plain connection; functions in a CHECK would hinder that."""
    copy = tmp_path / "copy.duckdb"
    shutil.copyfile(filled / WRITER_FILE, copy)
    sql = schema.migrations(two_migrations)[-1].sql
    alter = "".join(f"ALTER TABLE {table} ADD COLUMN another VARCHAR;" for table in schema.TABLES)
    script = (
        "import duckdb, os, sys\ncon = duckdb.connect(sys.argv[1])\n"
        "con.execute('BEGIN;' + sys.argv[2] + 'COMMIT')\nos.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", script, copy, sql + alter], check=False).returncode == -9
    assert copy.with_name("copy.duckdb.wal").exists()
    con = duckdb.connect(str(copy))
    assert "remark" in columns_of(con, "estimates")
    assert all("another" in columns_of(con, table) for table in schema.TABLES)


def test_checks_and_defaults_call_no_functions() -> None:
    for migration in schema.migrations():
        code = re.sub(r"^--.*$|'[^']*'", "", migration.sql, flags=re.MULTILINE)
        definitions = [part for part in code.split(";") if re.search(r"CREATE TABLE|ALTER TABLE", part)]
        called = {name for part in definitions for name in re.findall(r"\b([a-z_]+)\(", part)}
        assert called == set(), f"{migration.name} calls {called}"


def test_a_view_whose_file_changed_is_made_anew_and_one_that_is_gone_is_dropped(filled: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.duckdb"
    shutil.copyfile(filled / WRITER_FILE, copy)
    con = duckdb.connect(str(copy))
    con.execute("CREATE OR REPLACE VIEW failed_runs AS SELECT 1 AS one")
    con.execute("UPDATE schema_views SET sha256 = 'older' WHERE name = 'failed_runs'")
    con.execute("CREATE VIEW bygone AS SELECT 1 AS one")
    con.execute("INSERT INTO schema_views VALUES ('bygone', 'x', now()::TIMESTAMP)")
    schema.migrate(con, copy)
    assert columns_of(con, "failed_runs")[0] == "run_id"
    assert columns_of(con, "bygone") == []


def test_schema_2_tells_the_references_of_divergences_apart(tmp_path: Path, make) -> None:
    """A file of schema 1 had one latest estimate for all references of a corpus; the migration finds the others."""
    home = tmp_path / "home"
    make.fill_compared(Warehouse(home))
    Warehouse(home).publish()
    con = duckdb.connect(str(tmp_path / "old.duckdb"))
    schema.migrate(con, tmp_path, stop=1)
    con.execute(f"ATTACH '{home / 'warehouse.duckdb'}' AS now (READ_ONLY)")
    for table in ("runs", "corpora", "score_models", "estimates", "run_estimates"):
        con.execute(f"INSERT INTO {table} SELECT * FROM now.{table}")
    con.execute("INSERT INTO truths BY NAME SELECT * EXCLUDE reference_corpus_id FROM now.truths "
                "QUALIFY row_number() OVER (PARTITION BY measure) = 1")  # fmt: skip
    con.execute("INSERT INTO latest_index SELECT 'one of all', * EXCLUDE quantity_id FROM now.latest_index LIMIT 1")
    schema.migrate(con, tmp_path)
    both = [
        con.execute(f"FROM {table} ORDER BY quantity_id").fetchall() for table in ("latest_index", "now.latest_index")
    ]
    assert both[0] == both[1] and len(both[0]) == 8  # two scopes, two references, two estimators
    assert con.execute("SELECT reference_corpus_id, source FROM truths").fetchall() == [("", "by design")]


def test_migrations_that_skip_a_number_are_refused(tmp_path: Path) -> None:
    (tmp_path / "002_late.sql").write_text("SELECT 1")
    with pytest.raises(SurroundingsError, match="without gaps"):
        schema.migrations(tmp_path)


CONSTRAINTS = [
    ("estimates", "value_nats = 'nan'"),
    ("estimates", "value_nats = 'inf'"),
    ("estimates", "ci_low_nats = value_nats + 1"),
    ("estimates", "ci_high_nats = value_nats - 1"),
    ("estimates", "std_error_nats = -1"),
    ("estimates", "std_error_nats = NULL"),
    ("estimates", "measure = 'information'"),
    ("estimates", "mode = 'part'"),
    ("estimates", "estimator = 'guess'"),
    ("estimates", "n_samples = 0"),
    ("estimates", "terminal_kl_nats = 'nan'"),
    ("estimates", "study = ''"),
    ("pointwise", "value_nats = 'nan'"),
    ("pointwise", "sequence_index = -1"),
    ("runs", "status = 'done'"),
    ("runs", "finished_at = started_at - INTERVAL 1 SECOND"),
    ("corpora", "n_sequences = 0"),
    ("score_models", "parent_model_id = model_id"),
    ("score_models", "train_seconds = 'inf'"),
    ("truths", "bound = 'about'"),
    ("truths", "value_nats = 'nan'"),
    ("external_scores", "value = 'nan'"),
    ("checks", "tolerance_nats = -1"),
]


@pytest.fixture(scope="module")
def scratch(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    copy = tmp_path_factory.mktemp("scratch") / "copy.duckdb"
    shutil.copyfile(filled / WRITER_FILE, copy)
    return duckdb.connect(str(copy))


@pytest.mark.parametrize("fixture", FIXTURES[:-1], ids=lambda f: f.stem)
def test_a_kill_right_after_any_migration_leaves_a_file_that_opens(fixture: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.duckdb"
    shutil.copyfile(fixture, copy)
    script = (
        "import duckdb, os, sys\ncon = duckdb.connect(sys.argv[1])\n"
        "con.execute('PRAGMA disable_checkpoint_on_shutdown')\n"
        "con.execute('BEGIN;' + sys.argv[2] + ';COMMIT')\nos.kill(os.getpid(), 9)"
    )
    version = int(fixture.stem.rpartition("_")[2])
    sql = schema.migrations()[version].sql
    done = subprocess.run([sys.executable, "-c", script, copy, sql], check=False, capture_output=True, text=True)
    assert done.returncode == -9, done.stderr
    assert copy.with_name("copy.duckdb.wal").exists()
    con = duckdb.connect(str(copy))
    assert con.execute("SELECT count(*) FROM truths").fetchall() == [(1,)]
    with pytest.raises(duckdb.ConstraintException):
        con.execute("INSERT INTO truths SELECT * FROM truths")


@pytest.mark.parametrize(("table", "change"), CONSTRAINTS)
def test_nonsense_is_kept_out(scratch: duckdb.DuckDBPyConnection, table: str, change: str) -> None:
    only = "WHERE estimator = 'loss_difference'" if table == "estimates" else ""
    with pytest.raises(duckdb.ConstraintException):
        scratch.execute(f"UPDATE {table} SET {change} {only}")


@pytest.mark.slow
def test_files_are_readable_by_an_older_duckdb(filled: Path) -> None:
    """Needs OLD_DUCKDB_PYTHON: a Python that has DuckDB 1.2."""
    python = os.environ.get("OLD_DUCKDB_PYTHON")
    if not python:
        pytest.skip("OLD_DUCKDB_PYTHON is unset: the path of a Python that has DuckDB 1.2")
    script = (
        "import duckdb, sys\n"
        "con = duckdb.connect(sys.argv[1], read_only=True)\n"
        "names = con.execute(\"SELECT table_name FROM information_schema.tables WHERE table_schema = 'main'\")\n"
        "for (name,) in names.fetchall(): con.execute(f'SELECT * FROM {name}').fetchall()\n"
        "print(duckdb.__version__)"
    )
    done = subprocess.run([python, "-c", script, filled / "warehouse.duckdb"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1.")
