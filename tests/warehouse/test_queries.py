"""Queries: read-only and shut in, with errors that help; ten that work."""

import csv
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from infosedd.errors import InputError
from warehouse import queries

SHUT_OUT = [
    "COPY runs TO '{tmp}/stolen.csv'",
    "COPY (SELECT 1) TO '{tmp}/stolen.parquet' (FORMAT parquet)",
    "EXPLAIN ANALYZE COPY runs TO '{tmp}/stolen.csv'",
    "EXPORT DATABASE '{tmp}/stolen'",
    "ATTACH '{tmp}/other.duckdb'",
    "ATTACH ':memory:' AS other",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET threads = 1",
    "SET enable_external_access = true",
    "RESET threads",
    "PRAGMA enable_external_access",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM '/etc/passwd.csv'",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('/etc/*')",
    "FROM glob('/etc/*')",
    "SELECT * FROM read_parquet('https://example.org/x.parquet')",
    "CREATE TABLE mine (i INTEGER)",
    "CREATE TEMP TABLE mine AS SELECT 1",
    "INSERT INTO runs SELECT * FROM runs",
    "UPDATE runs SET study = 'x'",
    "DELETE FROM runs",
    "DROP TABLE runs",
    "CALL pragma_version()",
    "CHECKPOINT",
    "BEGIN TRANSACTION",
    "USE memory",
    "SELECT * FROM query('COPY runs TO ''{tmp}/stolen.csv''')",
]


@pytest.mark.parametrize("sql", SHUT_OUT)
def test_a_query_can_not_leave_the_warehouse(filled: Path, tmp_path: Path, sql: str) -> None:
    before = (filled / "warehouse.duckdb").read_bytes()
    with pytest.raises(InputError) as caught:
        queries.run(filled, sql.replace("{tmp}", str(tmp_path)))
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    assert (filled / "warehouse.duckdb").read_bytes() == before


@pytest.mark.parametrize(
    "sql",
    [
        "SHOW TABLES",
        "DESCRIBE runs",
        "SUMMARIZE runs",
        "FROM runs",
        "VALUES (1)",
        "EXPLAIN SELECT 1",
        "SELECT 1;",
        "PIVOT run_estimates ON reused USING count(*)",
        "WITH t AS (SELECT 1 AS a) SELECT * FROM t -- end",
    ],
)
def test_what_only_reads_is_allowed(filled: Path, sql: str) -> None:
    assert queries.run(filled, sql).height > 0


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT valu_nats FROM estimates", "did you mean 'value_nats'?"),
        ("SELECT e.valu_nats FROM estimates AS e", "did you mean 'value_nats'?"),
        ("SELECT study FROM estimates WHERE corpusid = ''", "did you mean 'corpus_id'?"),
        ("SELECT study FROM runs ORDER BY started", "did you mean 'started_at'?"),
        ("FROM estimats", "Table with name estimats does not exist, in the query; did you mean 'estimates'?"),
        ("FROM latest_estimate", "did you mean 'latest_estimates'?"),
        ("SELECT r.study FROM runs", "did you mean 'runs'?"),
        ("SELECT coun(*) FROM estimates", "did you mean 'count'?"),
        ("SELCT 1", 'syntax error at or near "SELCT", in the query'),
        ("SELECT CAST('a' AS INTEGER)", "Could not convert string 'a' to INT32"),
        ("", "there is no query, in the query; give one SELECT"),
        ("-- nothing", "there is no query"),
        ("SELECT 1; SELECT 2", "there are 2 statements"),
        ("SELECT ?", "Values were not provided"),
        ("SELECT study, count(*) FROM runs", "must appear in the GROUP BY clause"),
    ],
)
def test_a_mistake_is_said_in_one_line_with_what_is_near(filled: Path, sql: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        queries.run(filled, sql)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_near_column_comes_from_the_tables_of_the_query(filled: Path) -> None:
    with pytest.raises(InputError) as caught:
        queries.run(filled, "SELECT valu_nats FROM runs")
    assert "value_nats" not in str(caught.value)
    assert "run_id, started_at" in str(caught.value)


def test_a_near_column_of_several_tables_is_said_once_with_its_tables(filled: Path) -> None:
    with pytest.raises(InputError) as caught:
        queries.run(filled, "SELECT valu_nats FROM estimates AS e JOIN pointwise AS p USING (estimate_id)")
    said = str(caught.value)
    assert "did you mean 'value_nats' (of estimates, pointwise)? known: " in said
    assert said.count("'value_nats'") == 1 and said.partition("known: ")[2].split(", ").count("value_nats") == 1


def test_a_file_of_an_earlier_schema_says_so_where_a_query_fails(tmp_path: Path) -> None:
    shutil.copyfile(Path(__file__).parent / "fixtures" / "schema_1.duckdb", tmp_path / "warehouse.duckdb")
    assert queries.run(tmp_path, "FROM truths").height == 1
    with pytest.raises(InputError, match="has schema 1 of an earlier release, any run brings it to"):
        queries.run(tmp_path, "SELECT reference_corpus_id FROM truths")


ODD = [
    ("[1, NULL]", "[1, null]"),
    ("{'a': 1, 'b': 'x'}", '{"a": 1, "b": "x"}'),
    ("MAP {'k': 1.5::DOUBLE}", '{"k": 1.5}'),
    ("MAP {DATE '2026-01-02': 1}", '{"2026-01-02": 1}'),
    ("MAP {'k': MAP {DATE '2026-01-02': 'x'}}", '{"k": {"2026-01-02": "x"}}'),
    ("MAP {[1, 2]: 3}", "{[1, 2]=3}"),
    ("[{'a': [TIMESTAMP '2026-01-02 03:04:05']}]", '[{"a": ["2026-01-02 03:04:05"]}]'),
    ("TIMESTAMP '2026-01-02 03:04:05.123'", "2026-01-02 03:04:05.123000"),
    ("TIMESTAMPTZ '2026-01-02 03:04:05+00'", "2026-01-02 03:04:05+00:00"),
    ("DATE '2026-01-02'", "2026-01-02"),
    ("TIME '03:04:05'", "03:04:05"),
    ("TIMETZ '03:04:05+01'", "03:04:05+01"),
    ("INTERVAL 3 DAY", "3 days"),
    ("[INTERVAL 2 MONTH]", "[2 months]"),
    ("'0101'::BIT", "0101"),
    ("'\\xAA\\x00'::BLOB", "aa00"),
    ("['a'::BLOB]", '["61"]'),
    ("union_value(num := 2)", "2"),
    ("'a'::ENUM('a', 'b')", "a"),
    ("'5b7fbd2b-1e29-4a8a-9f0c-f1c3b2a5d4e3'::UUID", "5b7fbd2b-1e29-4a8a-9f0c-f1c3b2a5d4e3"),
    ("1.50::DECIMAL(10, 2)", "1.50"),
    ("NULL::INTEGER[]", None),
]


@pytest.mark.parametrize(("sql", "text"), ODD)
def test_odd_types_are_text_in_csv_as_in_tables(filled: Path, tmp_path: Path, sql: str, text: str | None) -> None:
    frame = queries.run(filled, f'SELECT {sql} AS "the odd one", 7 AS n')
    assert queries.text_of(frame.row(0)[0]) == text
    written = queries.with_text_columns(frame).write_csv()
    assert list(csv.DictReader(io.StringIO(written))) == [{"the odd one": text or "", "n": "7"}]
    assert len(json.loads(queries.with_text_columns(frame, only_bytes=True).write_json())) == 1
    frame.write_parquet(tmp_path / "rows.parquet")
    assert pl.read_parquet(tmp_path / "rows.parquet").height == 1


def test_there_are_ten_examples_and_each_finds_something(filled: Path) -> None:
    examples = queries.examples()
    assert len(examples) == len({e.name for e in examples}) == 10
    for example in examples:
        assert example.question.endswith("?") and not example.sql.endswith(";")
        found = queries.run(filled, example.sql)
        assert found.height > 0, example.name


def test_the_examples_say_what_is_in_the_warehouse(filled: Path) -> None:
    found = {e.name: queries.run(filled, e.sql) for e in queries.examples()}
    headline = found["headline"].filter(pl.col("study") == "lac-promoter").to_dicts()
    assert [row["value_nats"] for row in headline] == [pytest.approx(0.55)]
    side = found["side_by_side"].filter((pl.col("study") == "lac-promoter") & (pl.col("y") == "bin")).to_dicts()[0]
    assert (side["loss_difference_nats"], side["dynkin_nats"]) == (pytest.approx(0.55), pytest.approx(0.553))
    assert side["ln_n"] == pytest.approx(3.688879)
    assert found["top_windows"]["window_start"][0] == 2
    assert found["sequences_that_carry_most"]["sequence_id"][0] == "seq39"
    assert found["changes"]["change_nats"].max() == pytest.approx(0.05)
    assert found["against_truths"]["agrees"].to_list() == [True, True, None]
    assert found["summarisers"]["rank_correlation"].to_list() == [pytest.approx(1.0)]
    assert set(found["models"].filter(pl.col("corpus_name") == "lac")["generation"]) == {0, 1}
    assert found["runs"].height == 4


def test_parameters_are_bound_by_place_and_by_name(filled: Path) -> None:
    assert queries.run(filled, "SELECT ? + ? AS sum", [1, 2])["sum"].to_list() == [3]
    assert queries.run(filled, "SELECT $a || 'x' AS t", {"a": "'"})["t"].to_list() == ["'x"]


def test_nested_columns_become_json_text(filled: Path) -> None:
    frame = queries.run(filled, "SELECT warnings, diagnostics, blocks, 1 AS n FROM latest_estimates "
                        "JOIN corpora USING (corpus_id) WHERE estimator = 'loss_difference' AND x = 'promoter' "
                        "AND study = 'lac-promoter'")  # fmt: skip
    flat = queries.with_text_columns(frame)
    row = flat.to_dicts()[0]
    assert row["warnings"] == '["the two estimators differ"]'
    assert row["diagnostics"] == '{"dynkin_gap_nats": 0.003}'
    assert row["blocks"].startswith('[{"name": "promoter", "length": 12')
    assert row["n"] == 1
    assert flat.write_csv()


def test_a_light_start_and_nothing_heavy(filled: Path) -> None:
    script = (
        "import sys\nfrom warehouse import queries\n"
        f"queries.run({str(filled)!r}, 'SELECT 1')\n"
        "print([m for m in ('torch', 'prefect', 'datasets', 'sklearn', 'flows', 'connectors', 'pandas') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
