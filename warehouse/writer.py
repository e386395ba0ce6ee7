"""The only module that writes results: each call is one short transaction on the writer's file.

Values reach the database as whole frames or as parameters, never as part of a statement's text.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import duckdb
import polars as pl
import pyarrow as pa

from infosedd.blocks import near_names
from infosedd.corpus import Corpus
from infosedd.results import Estimate
from warehouse import publish, rows
from warehouse.connect import WAIT_SECONDS, writing
from warehouse.failures import first_line
from warehouse.merging import count_rows, merge_tables, update_latest
from warehouse.records import END_STATUSES, Card, Check, ExternalScore, Origin, RefusedRow, Truth


@dataclass(frozen=True)
class Written:
    """What a call added; ``differing`` are estimates that are stored with another value, which is kept."""

    added: int
    known: int
    pointwise_added: int = 0
    differing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Warehouse:
    """The warehouse of a home. Nothing stays open between calls, so any number of processes may have one."""

    home: Path
    wait_seconds: float = WAIT_SECONDS

    def __post_init__(self) -> None:
        object.__setattr__(self, "home", Path(self.home))

    def record_corpus(self, corpus: Corpus) -> bool:
        """Add the corpus; True if it was not there yet."""
        return self._insert_new("corpora", rows.corpus_row(corpus))

    def record_model(self, card: Card, path: Path | str) -> bool:
        """Add the model at ``path``; True if it was not there yet. Its corpus must be recorded first."""
        frame = rows.model_row(card, rows.stored_path(Path(path), self.home))
        return self._insert_new("score_models", frame, parents={"corpora": [card.corpus_id]})

    def start_run(
        self, run_id: str, study: str, flow_run_id: str | None = None, versions: Mapping[str, str] | None = None
    ) -> bool:
        """Add a run that starts now; True if it was not there yet."""
        frame = pl.DataFrame(
            [(run_id, study, flow_run_id, "running", rows.now(), None, None, json.dumps(dict(versions or {})))],
            schema={
                **dict.fromkeys(("run_id", "study", "flow_run_id", "status"), pl.String),
                **dict.fromkeys(("started_at", "finished_at"), pl.Datetime("us")),
                **dict.fromkeys(("error", "versions"), pl.String),
            },
            orient="row",
        )
        return self._insert_new("runs", frame)

    def finish_run(
        self, run_id: str, status: str = "completed", error: str | None = None, *, only_running: bool = False
    ) -> bool:
        """Say how a run ended, now; a clock that was set back meanwhile gives a run of 0 seconds.

        With ``only_running`` a run that ended already stays as it is. True if the row was changed.
        """
        if status not in END_STATUSES:
            raise RefusedRow(f"a run can't end as {status!r}", remedy=near_names(status, END_STATUSES))
        with writing(self.home, self.wait_seconds) as con:
            _require(con, "runs", [run_id])
            changed = con.execute(
                "UPDATE runs SET status = ?, error = ?, finished_at = greatest(started_at, ?) "
                "WHERE run_id = ? AND (status = 'running' OR NOT ?) RETURNING run_id",
                [status, error, rows.now(), run_id, only_running],
            )
            return changed.fetchone() is not None

    def unfinished_runs(self) -> pl.DataFrame:
        """Runs that are still said to be running, from the writer's file: run_id, study, flow_run_id, started_at."""
        with writing(self.home, self.wait_seconds) as con:
            found = con.execute(
                "SELECT run_id, study, flow_run_id, started_at FROM runs WHERE status = 'running' ORDER BY started_at"
            ).fetchall()
        types = {**dict.fromkeys(("run_id", "study", "flow_run_id"), pl.String), "started_at": pl.Datetime("us")}
        return pl.DataFrame(found, schema=types, orient="row")

    def record_estimates(
        self,
        run_id: str,
        study: str,
        corpus_id: str,
        model_id: str | None,
        seed: int,
        estimates: Sequence[Estimate],
        reused: bool = False,
        reference_corpus_id: str | None = None,
        reference_model_id: str | None = None,
        *,
        pointwise: Literal["whole", "all", "none"] = "whole",
        sequence_ids: pa.StringArray | pa.ChunkedArray | None = None,
    ) -> Written:
        """Add estimates, those that hang from them, and their pointwise values, and that the run showed them.

        What is stored already is kept. Pointwise values are those of the main estimates: of mode ``whole`` by
        default, as every window of a profile would have its own million. ``sequence_ids`` is indexed by corpus
        row; None takes the ids of the corpus that is stored in the home, if it is.
        """
        origin = Origin(study, corpus_id, model_id, int(seed), reference_corpus_id, reference_model_id)
        frame = rows.estimate_rows(estimates, origin)
        chosen = [e for e in estimates if pointwise == "all" or (pointwise == "whole" and e.mode == "whole")]
        if sequence_ids is None and any(e.pointwise is not None for e in chosen):
            sequence_ids = self._stored_sequence_ids(corpus_id)
        points = rows.pointwise_rows(chosen, origin, sequence_ids)
        with writing(self.home, self.wait_seconds) as con:
            _require(con, "runs", [run_id])
            _require(con, "corpora", [corpus_id, reference_corpus_id])
            _require(con, "score_models", [model_id, reference_model_id])
            return _write_estimates(con, run_id, frame, points, reused)

    def record_truths(self, truths: Sequence[Truth]) -> None:
        """Add known answers; one with a key that is there replaces the old value."""
        self._replace(
            "truths",
            rows.truth_rows(truths),
            corpora=[i for t in truths for i in (t.corpus_id, t.reference_corpus_id) if i],
        )

    def record_checks(self, checks: Sequence[Check]) -> None:
        """Add outcomes of checks; one with a key that is there replaces the old outcome."""
        self._replace("checks", rows.check_rows(checks), corpora=[c.corpus_id for c in checks])

    def record_external_scores(self, scores: Sequence[ExternalScore]) -> None:
        """Add scores that others gave; one with a key that is there replaces the old value."""
        self._replace("external_scores", rows.score_rows(scores))

    def merge(self, file: Path) -> dict[str, int]:
        """Add what another warehouse file of this schema holds and this one does not: table -> rows added."""
        with writing(self.home, self.wait_seconds) as con:
            return merge_tables(con, file)

    def publish(self) -> Path:
        """Give readers a whole copy of what is committed now."""
        return publish.publish(self.home, self.wait_seconds)

    def _insert_new(self, table: str, frame: pl.DataFrame, parents: Mapping[str, list] | None = None) -> bool:
        with writing(self.home, self.wait_seconds) as con:
            for parent, keys in (parents or {}).items():
                _require(con, parent, keys)
            before = count_rows(con, table)
            _insert(con, table, frame, "INSERT OR IGNORE")
            return count_rows(con, table) > before

    def _replace(self, table: str, frame: pl.DataFrame, corpora: Sequence[str] = ()) -> None:
        with writing(self.home, self.wait_seconds) as con:
            _require(con, "corpora", list(corpora))
            _insert(con, table, frame, "INSERT OR REPLACE")

    def _stored_sequence_ids(self, corpus_id: str) -> pa.StringArray | None:
        folder = self.home / "corpora" / corpus_id
        return Corpus.load(folder).sequence_ids if folder.is_dir() else None


_KEYS = {"runs": "run_id", "corpora": "corpus_id", "score_models": "model_id"}
_CASTS = {"diagnostics": "map_from_entries(diagnostics)"}


def _require(con: duckdb.DuckDBPyConnection, table: str, keys: Sequence[str | None]) -> None:
    """Rows that others point to must be there: the warehouse has no foreign keys, which would hinder updates."""
    wanted = sorted({key for key in keys if key is not None})
    found = con.execute(f"SELECT {_KEYS[table]} FROM {table} WHERE {_KEYS[table]} IN (SELECT unnest(?))", [wanted])
    if missing := sorted(set(wanted) - {row[0] for row in found.fetchall()}):
        raise RefusedRow(
            f"{_KEYS[table]} {missing[0]!r} is not in the warehouse",
            where=f"table {table}",
            remedy=f"record the {'run' if table == 'runs' else 'corpus' if table == 'corpora' else 'model'} first",
        )


def _insert(con: duckdb.DuckDBPyConnection, table: str, frame: pl.DataFrame, how: str) -> None:
    """Insert a whole frame by column name; a row that breaks a constraint is a RefusedRow."""
    selected = ", ".join(f"{_CASTS[name]} AS {name}" if name in _CASTS else name for name in frame.columns)
    con.register("incoming_frame", frame)
    try:
        con.execute(f"{how} INTO {table} BY NAME SELECT {selected} FROM incoming_frame")
    except duckdb.ConstraintException as error:
        raise RefusedRow(
            f"a row breaks a rule of the warehouse: {first_line(error)}", where=f"table {table}"
        ) from error
    con.unregister("incoming_frame")


def _write_estimates(
    con: duckdb.DuckDBPyConnection, run_id: str, frame: pl.DataFrame, points: pl.DataFrame, reused: bool
) -> Written:
    known = con.execute(
        "SELECT estimate_id, value_nats, created_at FROM estimates WHERE estimate_id IN (SELECT unnest(?))",
        [frame["estimate_id"].to_list()],
    ).fetchall()
    stored = {key: value for key, value, _ in known}
    given = zip(frame["estimate_id"], frame["value_nats"], strict=True)
    differing = [key for key, v in given if key in stored and not math.isclose(v, stored[key], rel_tol=1e-9)]
    new = frame.filter(~pl.col("estimate_id").is_in(list(stored)))
    new_points = points.filter(~pl.col("estimate_id").is_in(_with_points(con, points, stored)))
    if len(new):
        _insert(con, "estimates", new, "INSERT")
    if len(new_points):
        _insert(con, "pointwise", new_points, "INSERT")
    shown = frame.select(pl.lit(run_id).alias("run_id"), "estimate_id", pl.lit(reused).alias("reused"))
    _insert(con, "run_estimates", shown, "INSERT OR IGNORE")
    first_written = {key: moment for key, _, moment in known}
    moments = [first_written.get(key, now) for key, now in frame.select("estimate_id", "created_at").iter_rows()]
    update_latest(con, run_id, frame.with_columns(pl.Series("created_at", moments, dtype=pl.Datetime("us"))))
    return Written(len(new), len(stored), len(new_points), tuple(differing))


def _with_points(con: duckdb.DuckDBPyConnection, points: pl.DataFrame, stored: Mapping[str, float]) -> list[str]:
    """Estimates whose pointwise values are stored; only those that were stored before can have any."""
    maybe = [key for key in points["estimate_id"].unique() if key in stored]
    if not maybe:
        return []
    found = con.execute("SELECT DISTINCT estimate_id FROM pointwise WHERE estimate_id IN (SELECT unnest(?))", [maybe])
    return [row[0] for row in found.fetchall()]
