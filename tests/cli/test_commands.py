"""The command line: exit codes, one ``error:`` line, and what goes to which stream."""

import csv
import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from flows.cli import invoke
from warehouse import Warehouse


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def infosedd(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["infosedd", *arguments])
        code = invoke(arguments)
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return run


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose warehouse holds one failed run."""
    warehouse = Warehouse(tmp_path / "home")
    warehouse.start_run("r1", "a study", None, {})
    warehouse.finish_run("r1", "failed", "no space, in /home; free some")
    warehouse.publish()
    return tmp_path / "home"


def assert_one_error_line(result: Result, code: int, *words: str) -> None:
    assert result.code == code, result.err
    lines = result.err.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("error: "), result.err
    assert result.out == ""
    for word in words:
        assert word in lines[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["runn", "lac-promoter"], ["'runn'", "'run'"]),
        (["run"], ["STUDY"]),
        (["run", "lac-promotor"], ["did you mean 'lac-promoter'"]),
        (["run", "lac-promoter", "--sed", "1"], ["--sed", "--seed"]),
        (["run", "lac-promoter", "--seed", "-1"], ["--seed"]),
        (["run", "lac-promoter", "data.csv"], ["unexpected argument 'data.csv'", "--source"]),
        (["run", "lac-promoter", "--set", "measures.0.windo=3"], ["'windo'", "did you mean 'window'"]),
        (["run", "none/such.toml"], ["none/such.toml"]),
        (["sql", "select 1"], ["no results yet", "infosedd run"]),
        (["sql"], ["no query"]),
        (["sql", "select 1", "--format", "xml"], ["--format", "'xml'"]),
        (["models"], ["no results yet"]),
        (["report"], ["no results yet"]),
        (["connectors", "tabel"], ["did you mean 'table'"]),
        (["export", "out"], ["no results yet"]),
        (["import", "nothing"], ["nothing"]),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(infosedd: Run, arguments: list[str], words: list[str]) -> None:
    assert_one_error_line(infosedd(*arguments), 2, *words)


def test_no_command_shows_the_help_and_leaves_with_2_or_0(infosedd: Run) -> None:
    result = infosedd("--help")
    assert result.code == 0
    for command in ("run", "sql", "studies", "connectors", "models", "report"):
        assert f"  {command} " in result.out


def test_studies_and_connectors_are_listed_as_table_and_json(infosedd: Run) -> None:
    assert "lac-promoter" in infosedd("studies").out
    assert "lac-promoter" in {study["name"] for study in json.loads(infosedd("studies", "--json").out)}
    assert "table" in infosedd("connectors").out
    assert "sequences" in infosedd("connectors", "table").out
    listed = json.loads(infosedd("connectors", "--json").out)
    assert {"name", "summary", "formats", "options"} <= set(listed[0])


def test_sql_prints_table_csv_and_json(infosedd: Run, home: Path) -> None:
    query = "select study, status, [1, 2] as list from runs"
    table = infosedd("sql", query, "--home", str(home))
    assert (table.code, table.err) == (0, "")
    assert "a study" in table.out and "1 row" in table.out
    rows = list(csv.DictReader(io.StringIO(infosedd("sql", query, "--home", str(home), "--format", "csv").out)))
    assert rows == [{"study": "a study", "status": "failed", "list": "[1, 2]"}]
    parsed = json.loads(infosedd("sql", query, "--home", str(home), "--format", "json").out)
    assert parsed == [{"study": "a study", "status": "failed", "list": [1, 2]}]


def test_sql_writes_parquet_and_reads_stdin(infosedd: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("select run_id from runs"))
    result = infosedd("sql", "-", "--home", str(home), "--output", "rows.parquet")
    assert (result.code, result.out) == (0, "")
    assert pl.read_parquet("rows.parquet")["run_id"].to_list() == ["r1"]
    assert_one_error_line(infosedd("sql", "select 1", "--home", str(home), "--output", "rows.txt"), 2, ".parquet")
    unwritable = infosedd("sql", "select 1", "--home", str(home), "--output", "no/such/rows.parquet")
    assert_one_error_line(unwritable, 3, "no/such/rows.parquet")


def test_a_failed_output_leaves_the_earlier_file(infosedd: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def half(frame: pl.DataFrame, path: Path) -> None:
        path.write_bytes(b"half")
        raise OSError("no space left on device")

    arguments = ("sql", "select 1", "--home", str(home), "--output", "rows.parquet")
    assert infosedd(*arguments).code == 0
    before = Path("rows.parquet").read_bytes()
    monkeypatch.setattr(pl.DataFrame, "write_parquet", half)
    assert_one_error_line(infosedd(*arguments), 3, "no space left")
    assert Path("rows.parquet").read_bytes() == before
    assert not list(Path().glob(".*partial"))


def test_an_output_is_refused_before_the_query_runs(infosedd: Run, home: Path) -> None:
    nonsense = ("sql", "no query at all", "--home", str(home), "--output")
    assert_one_error_line(infosedd(*nonsense, "rows.txt"), 2, "name it FILE.parquet")
    assert_one_error_line(infosedd(*nonsense, "rows.parquet", "--format", "csv"), 2, "--format csv", "one of the two")


def test_the_home_comes_from_the_option_or_the_variable(
    infosedd: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFOSEDD_HOME", str(home))
    assert infosedd("sql", "select 1").code == 0
    assert_one_error_line(infosedd("sql", "select 1", "--home", "elsewhere"), 2, "elsewhere")


def test_a_wrong_query_names_the_near_table(infosedd: Run, home: Path) -> None:
    assert_one_error_line(infosedd("sql", "select * from runz", "--home", str(home)), 2, "did you mean 'runs'")


def test_every_example_runs(infosedd: Run, home: Path) -> None:
    text = infosedd("sql", "--examples").out
    queries = [part for part in text.split(";") if part.strip()]
    assert len(queries) >= 10
    for query in queries:
        assert infosedd("sql", query, "--home", str(home)).code == 0


def test_results_move_to_another_home(infosedd: Run, home: Path) -> None:
    assert infosedd("export", "out", "--home", str(home)).code == 0
    assert infosedd("import", "out", "--home", "other").code == 0
    assert "a study" in infosedd("sql", "select study from runs", "--home", "other").out
    assert "warehouse.duckdb" in infosedd("du", "--home", "other").out


def test_a_bug_is_no_error_line(infosedd: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import flows.study

    monkeypatch.setattr(flows.study, "shipped_studies", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        infosedd("studies")


def test_ctrl_c_is_130(infosedd: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import flows.study

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(flows.study, "shipped_studies", interrupted)
    assert_one_error_line(infosedd("studies"), 130, "interrupted")


def test_a_full_disk_is_3(infosedd: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import flows.study

    def full() -> None:
        raise OSError(28, "No space left on device", "/some/file")

    monkeypatch.setattr(flows.study, "shipped_studies", full)
    assert_one_error_line(infosedd("studies"), 3, "No space left", "/some/file")
