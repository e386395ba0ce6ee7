"""From a command to a flow run: check what can be checked first, then start Prefect."""

from flows import steps
from flows.home import Home
from flows.pipeline import Outcome
from flows.progress import on_terminal, stage
from flows.server import prepare, server_for
from flows.study import Study
from infosedd.errors import InputError


def launch(study: Study, home: Home, command: str) -> Outcome:
    """Run a study as a flow in this process; wrong input ends here, before any run exists."""
    prepare(home)
    with on_terminal():
        corpus_id = steps.ingest(study, home)
        stage("starting Prefect")
        with server_for(home):
            from flows.study_flow import study_flow

            return study_flow(study=study, home=home.path, corpus_id=corpus_id, command=command)


def latest_run(home: Home, study: str | None) -> str:
    """Id of the latest completed run, of one study or of any."""
    from warehouse import queries

    rows = queries.run(
        home.path,
        "select run_id from runs where status = 'completed' and (study = $study or $study is null)"
        " order by started_at desc limit 1",
        {"study": study},
    )
    if rows.is_empty():
        of = f" of study {study!r}" if study else ""
        raise InputError(
            f"there is no completed run{of}", where=str(home.path), remedy="run `infosedd run STUDY` first"
        )
    return rows["run_id"][0]


def study_of_run(home: Home, run_id: str) -> Study | None:
    """The study as a run had it; None for a run of another home."""
    path = home.runs / f"{run_id}.json"
    return Study.model_validate_json(path.read_text()) if path.exists() else None
