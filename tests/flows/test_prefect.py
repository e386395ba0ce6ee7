"""The flows on a Prefect server: runs and rows belong together, failures are told, one bad file stops none."""

import json
import logging
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from flows.home import Home
from flows.liveness import mark_left_runs
from flows.study import Study
from infosedd.errors import InputError, SurroundingsError
from infosedd.progress import Progress
from warehouse import Warehouse, queries

from .conftest import study_of, write_table

pytestmark = [pytest.mark.prefect, pytest.mark.usefixtures("prefect_server")]


@pytest.fixture
def quick(table: Path) -> Study:
    training = {"budget": "steps", "steps": 5, "batch_size": 32, "evaluate_every": 5}
    model = {"network": [{"kind": "pairwise"}], "training": training, "folds": 2}
    measures = [{"x": "x", "y": "label"}, {"x": "x", "y": "label", "mode": "keep", "window": 3, "step": 3}]
    return study_of(table, model=model, measures=measures)


def row(home: Home, sql: str) -> tuple[Any, ...]:
    return queries.run(home.path, sql).row(0)


def flow_run(flow_run_id: str) -> Any:
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        return client.read_flow_run(flow_run_id)


def artifact_keys() -> set[str]:
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        return {artifact.key for artifact in client.read_latest_artifacts() if artifact.key}


def test_a_study_runs_as_a_flow_with_its_artifacts(quick: Study, home: Home) -> None:
    from flows.study_flow import study_flow

    outcome = study_flow(quick, home.path)
    assert outcome.report is not None and outcome.report.exists()
    flow_run_id, status = row(home, "select flow_run_id, status from runs")
    assert status == "completed"
    seen = flow_run(flow_run_id)
    assert seen.name == "small on small, seed 0"
    assert seen.state.is_completed()
    assert {"small-estimates", "small-report", "small-profile-keep"} <= artifact_keys()
    assert study_flow(quick, home.path).model.reused


def test_a_study_by_name_is_a_parameter_too() -> None:
    from flows.study_flow import study_flow

    checked = study_flow.validate_parameters({"study": "lac-promoter", "home": None})
    assert checked["study"].name == "lac-promoter"
    fields = study_flow.parameters.properties
    assert fields["home"]["description"].startswith("Folder for data")
    with pytest.raises(Exception, match="did you mean 'lac-promoter'"):
        study_flow.validate_parameters({"study": "lac-promotor"})


def test_wrong_input_fails_the_flow_with_our_error(quick: Study, home: Home, tmp_path: Path) -> None:
    from flows.study_flow import study_flow

    missing = study_of(tmp_path / "none.csv")
    with pytest.raises(InputError, match=r"none\.csv"):
        study_flow(missing, home.path, command="infosedd run none")
    status, error, flow_run_id = row(home, "select status, error, flow_run_id from runs")
    assert status == "failed" and error.startswith("ingest: ") and "`infosedd run none`" in error
    assert flow_run(flow_run_id).state.is_failed()


def test_a_left_run_is_closed_in_prefect_by_the_next(quick: Study, home: Home) -> None:
    from prefect.client.orchestration import get_client
    from prefect.states import Running

    from flows.hooks import close_in_prefect
    from flows.study_flow import study_flow

    with get_client(sync_client=True) as client:
        left = client.create_flow_run(study_flow, parameters={"study": quick}, state=Running())
    Warehouse(home.path).start_run("r1", "small", str(left.id), {})
    close_in_prefect(mark_left_runs(home))
    assert flow_run(str(left.id)).state.is_crashed()


@pytest.fixture
def webhook() -> Iterator[tuple[str, list[dict]]]:
    """A web address, and what it was sent."""
    received: list[dict] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            return

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/", received
    server.shutdown()


def test_a_failure_is_sent_to_the_webhook(
    home: Home, tmp_path: Path, webhook: tuple[str, list[dict]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from prefect.blocks.webhook import Webhook

    from flows.study_flow import study_flow

    url, received = webhook
    Webhook(method="POST", url=url).save("infosedd-test", overwrite=True)  # type: ignore[arg-type]
    monkeypatch.setenv("INFOSEDD_NOTIFY", "webhook/infosedd-test")
    with pytest.raises(InputError):
        study_flow(study_of(tmp_path / "none.csv"), home.path, command="infosedd run mine.toml")
    assert len(received) == 1
    told = received[0]["text"].splitlines()[1]
    assert told.startswith("ingest: ") and "none.csv" in told and "resume with `infosedd run mine.toml`" in told


WORKERS = [pytest.param(runner, marks=pytest.mark.slow) for runner in ("processes", "dask")]


def skip_without_dask(runner: str) -> None:
    if runner == "dask":
        pytest.importorskip("prefect_dask")


@pytest.mark.parametrize("runner", WORKERS)
def test_a_study_gives_the_same_numbers_on_workers(quick: Study, home: Home, tmp_path: Path, runner: str) -> None:
    from flows.study_flow import study_flow

    skip_without_dask(runner)
    alone = study_flow(quick, tmp_path / "alone")
    spread = study_flow(quick, home.path, runner=runner, workers=2)
    assert spread.model.model_id == alone.model.model_id
    for ours, theirs in zip(spread.answers, alone.answers, strict=True):
        assert [(e.nats, e.std_error) for e in ours.estimates] == [(e.nats, e.std_error) for e in theirs.estimates]
    assert list(home.locks.glob("*.held")) == []


@pytest.mark.parametrize("runner", ["threads", *WORKERS])
def test_a_watch_runs_the_good_files_and_tells_the_bad_one(
    quick: Study, home: Home, tmp_path: Path, runner: str
) -> None:
    from flows.watch_flow import watch_flow

    skip_without_dask(runner)
    folder = tmp_path / "files"
    folder.mkdir()
    for name in "abc":
        write_table(folder / f"{name}.csv", n=80, seed=ord(name))
    (folder / "bad.csv").write_text("x,label\nACGTAC,A\nACGTA,A\n")
    state = watch_flow(quick, str(folder), home.path, runner=runner, workers=2, return_state=True)
    watched = state.result(raise_on_failure=False)
    assert state.is_failed() and "3 of 4 new files done" in state.message and "bad.csv" in state.message
    assert [r.path.name for r in watched.failed] == ["bad.csv"]
    assert len({r.model_id for r in watched.results if not r.error}) == 3
    if runner != "threads":
        assert len({r.process_id for r in watched.results if not r.error}) == 2
    again = watch_flow(quick, str(folder), home.path, runner=runner, return_state=True)
    assert again.is_completed() and again.result().results == ()


def test_a_prefect_server_that_fails_ends_the_bar_and_not_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    import httpx

    from flows import artifacts

    told: list[str] = []
    log = logging.getLogger("bar")
    monkeypatch.setattr(log, "warning", lambda text, *_: told.append(text))
    monkeypatch.setattr(artifacts, "get_run_logger", lambda: log)
    monkeypatch.setattr(artifacts, "SECONDS_BETWEEN", 0.0)

    def gone(*_: object, **__: object) -> None:
        raise httpx.ConnectError("no server")

    monkeypatch.setattr(artifacts, "create_progress_artifact", gone)
    bar = artifacts._Bar()
    for done in (0.1, 0.2):
        bar(Progress("training", done))
    bar.finish()
    assert len(told) == 1


def test_a_server_that_is_gone_is_tried_again() -> None:
    import httpx
    from prefect.states import Failed

    from flows.tasks import _a_retry_can_help

    for error, again in ((httpx.ConnectError("gone"), True), (SurroundingsError("full"), True), (ValueError(), False)):
        assert _a_retry_can_help(None, None, Failed(data=error)) is again  # type: ignore[arg-type]
