"""Export to Parquet and import into another home: nothing lost, nothing doubled."""

import json
import shutil
from pathlib import Path

import duckdb
import polars as pl
import pytest

from infosedd.errors import InputError, SurroundingsError
from warehouse import Warehouse, queries, schema, transfer


@pytest.fixture(scope="module")
def exported(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "out"
    transfer.export(filled, folder)
    return folder


@pytest.fixture
def own_export(exported: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(exported, tmp_path / "out"))


def everything(home: Path) -> dict[str, list[dict]]:
    """All rows of all tables and views, in an order of their own."""
    con = duckdb.connect(str(home / "warehouse.duckdb"), read_only=True)
    try:
        tables = [*schema.TABLES, *(view.name for view in schema.views())]
        return {t: con.sql(f"SELECT * FROM {t} ORDER BY ALL").pl().to_dicts() for t in tables}
    finally:
        con.close()


def test_an_export_is_partitioned_parquet_with_a_manifest(filled: Path, exported: Path) -> None:
    manifest = json.loads((exported / "manifest.json").read_text())
    assert manifest["schema_version"] == schema.head()
    paths = {entry["path"] for entry in manifest["files"]}
    assert {p.relative_to(exported).as_posix() for p in exported.rglob("*.parquet")} == paths
    assert "estimates/study=lac-promoter/rows.parquet" in paths and "corpora/rows.parquet" in paths
    for table in schema.TABLES:
        stored = queries.run(filled, f"SELECT count(*) AS n FROM {table}")["n"][0]
        assert stored == sum(entry["rows"] for entry in manifest["files"] if entry["table"] == table)
    estimates = pl.read_parquet(exported / "estimates/study=lac-promoter/rows.parquet")
    assert estimates["study"].unique().to_list() == ["lac-promoter"]


def test_what_is_exported_is_imported_whole_and_once(filled: Path, exported: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    added = transfer.import_(home, exported)
    assert added["estimates"] == 35 and added["runs"] == 4
    assert everything(home) == everything(filled)
    assert set(transfer.import_(home, exported).values()) == {0}
    assert everything(home) == everything(filled)


def test_two_homes_merge_without_duplicates(home: Path, exported: Path, make, tmp_path: Path) -> None:
    other = tmp_path / "other"
    warehouse, lac = Warehouse(other), make.corpus()
    warehouse.record_corpus(lac)
    warehouse.record_model(make.Card("model-c", lac.corpus_id), other / "models" / "model-c")
    warehouse.start_run("later", make.STUDY)
    warehouse.record_estimates("later", make.STUDY, lac.corpus_id, "model-c", 0, [make.estimate(0.7)])
    warehouse.finish_run("later")
    warehouse.publish()
    before = {table: len(rows) for table, rows in everything(home).items()}
    added = transfer.import_(home, other / "warehouse.duckdb")
    assert added == {**dict.fromkeys(schema.TABLES, 0), "runs": 1, "score_models": 1, "estimates": 3} | {
        "run_estimates": 3,
        "pointwise": make.N,
    }
    after = everything(home)
    assert len(after["estimates"]) == before["estimates"] + 3
    assert len(after["latest_estimates"]) == before["latest_estimates"]
    latest = [r for r in after["latest_estimates"] if r["model_id"] == "model-c"]
    assert len(latest) == 3  # the run that came in is the last one

    transfer.import_(other, exported)
    merged = everything(other)
    assert {r["estimate_id"] for r in merged["estimates"]} == {r["estimate_id"] for r in after["estimates"]}
    assert merged["latest_estimates"] == after["latest_estimates"]


def test_a_run_that_came_in_while_it_was_running_takes_over_how_it_ended(tmp_path: Path) -> None:
    there, here = Warehouse(tmp_path / "there"), Warehouse(tmp_path / "here")
    for run_id in ("good", "bad", "dead"):
        there.start_run(run_id, "s")
    transfer.import_(here.home, there.publish())
    here.finish_run("good", "crashed", "ended without a word")
    there.finish_run("good")
    there.finish_run("bad", "failed", "no space")
    there.finish_run("dead", "crashed", "killed")
    transfer.import_(here.home, there.publish())
    how = "SELECT run_id, status, error, finished_at IS NULL FROM runs ORDER BY 1"
    rows = [("bad", "failed", "no space", False), ("dead", "running", None, True), ("good", "completed", None, False)]
    assert queries.run(here.home, how).rows() == rows
    here.finish_run("dead", "crashed", "killed")
    transfer.import_(there.home, here.publish())
    assert queries.run(there.home, how).rows()[1] == ("dead", "crashed", "killed", False)


def test_a_file_with_a_log_beside_it_is_refused(home: Path, tmp_path: Path) -> None:
    log = home / "warehouse.duckdb.wal"
    log.write_bytes(b"x")
    with pytest.raises(InputError, match=r"in its log .*warehouse\.duckdb\.wal only") as caught:
        transfer.import_(tmp_path / "new", home / "warehouse.duckdb")
    assert "CHECKPOINT" in str(caught.value) and not (tmp_path / "new").exists()
    log.unlink()
    assert transfer.import_(tmp_path / "new", home / "warehouse.duckdb")["runs"] == 4


def test_study_names_are_safe_as_folders(home: Path, make, tmp_path: Path) -> None:
    for name in ("../up", "a/b", "123", "x=y'z"):
        Warehouse(home).start_run(f"run {name}", name)
    Warehouse(home).publish()
    transfer.export(home, tmp_path / "out")
    assert {p.parent for p in (tmp_path / "out" / "runs").glob("*/rows.parquet")} == set(
        (tmp_path / "out" / "runs").iterdir()
    )
    transfer.import_(tmp_path / "new", tmp_path / "out")
    studies = queries.run(tmp_path / "new", "SELECT DISTINCT study FROM runs")["study"].to_list()
    assert {"../up", "a/b", "123", "x=y'z"} <= set(studies)


def change(folder: Path, **changes: object) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_a_changed_file_is_refused(own_export: Path, tmp_path: Path) -> None:
    file = own_export / "corpora" / "rows.parquet"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(InputError, match="not as it was written"):
        transfer.import_(tmp_path / "home", own_export)
    file.unlink()
    with pytest.raises(InputError, match="a file of the export is missing"):
        transfer.import_(tmp_path / "home", own_export)
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    ("changes", "kind", "said"),
    [
        ({"schema_version": 99}, SurroundingsError, "has schema 99"),
        ({"format_version": 9}, SurroundingsError, "has format 9"),
        ({"files": [{"table": "runs", "path": "../x", "sha256": ""}]}, InputError, "the manifest names '../x'"),
        ({"files": [{"table": "runs; DROP", "path": "x", "sha256": ""}]}, InputError, "the manifest names"),
        ({"files": [{}]}, InputError, "can't read the manifest"),
        ({"schema_version": "one"}, InputError, "can't read the manifest"),
    ],
)
def test_a_manifest_that_is_not_ours_is_refused(own_export: Path, tmp_path: Path, changes, kind, said) -> None:
    change(own_export, **changes)
    with pytest.raises(kind, match=said):
        transfer.import_(tmp_path / "home", own_export)
    assert not (tmp_path / "home").exists()


def test_other_mistakes_of_the_user(filled: Path, exported: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="would overwrite"):
        transfer.export(filled, exported)
    with pytest.raises(InputError, match="there is no warehouse yet"):
        transfer.export(tmp_path / "nowhere", tmp_path / "out")
    with pytest.raises(InputError, match="the folder is no export"):
        transfer.import_(tmp_path / "home", tmp_path)
    with pytest.raises(InputError, match="there is nothing to import"):
        transfer.import_(tmp_path / "home", tmp_path / "gone.duckdb")
    (tmp_path / "text.duckdb").write_text("hello " * 1000)
    with pytest.raises(SurroundingsError, match="is not a DuckDB database"):
        transfer.import_(tmp_path / "home", tmp_path / "text.duckdb")
    assert not (tmp_path / "home").exists() and not (tmp_path / "out").exists()
