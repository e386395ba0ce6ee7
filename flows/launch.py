"""From a command to a flow run: check what can be checked first, then start Prefect."""

from typing import TYPE_CHECKING, Any

from flows import steps
from flows.home import Home
from flows.pipeline import Outcome, carry_out, ingest_all
from flows.progress import on_terminal, stage
from flows.queries import asking
from flows.runners import Runner
from flows.server import prepare, server_for
from flows.study import DIVERGENCES, MeasureSpec, Source, Study, kept_study
from flows.truths import known_answers
from flows.watching import Watched, files_of
from infosedd.corpus import Corpus
from infosedd.errors import InputError

if TYPE_CHECKING:
    from prefect.client.schemas.objects import State

    from flows.checking import Checked, Wanted


def launch(study: Study, home: Home, command: str, runner: Runner) -> Outcome:
    """Run a study as a flow in this process; wrong input ends here, before any run exists."""
    prepare(home)
    with on_terminal():
        corpus_ids = list(ingest_all(study, home))
        stage("starting Prefect")
        with server_for(home):
            from flows.study_flow import study_flow

            return study_flow(
                study=study,
                home=home.path,
                corpus_ids=corpus_ids,
                command=command,
                runner=str(runner),
                workers=runner.workers,
            )


def launch_checks(study: Study, home: Home, wanted: "Wanted", command: str) -> "Checked":
    """Check a study's number as a flow in this process; wrong input ends here, before any run exists."""
    from flows.checking import asked_of

    asked_of(study)
    names = list(wanted.names)
    prepare(home)
    with on_terminal():
        corpus_id = steps.ingest(study, home)
        stage("starting Prefect")
        with server_for(home):
            from flows.check_flow import check_flow

            return check_flow(
                study=study,
                home=home.path,
                rows=wanted.rows,
                curve=wanted.curve,
                null=wanted.null,
                only=names,
                corpus_id=corpus_id,
                command=command,
            )


def launch_watch(study: Study, place: str, home: Home, runner: Runner, retry_failed: bool, command: str) -> Watched:
    """Run a study on the new files of a place, as a flow in this process."""
    files_of(place)
    prepare(home)
    with on_terminal():
        stage("starting Prefect")
        with server_for(home):
            from flows.watch_flow import watch_flow

            state: State[Any] = watch_flow(
                study=study,
                place=place,
                home=home.path,
                runner=str(runner),
                workers=runner.workers,
                retry_failed=retry_failed,
                command=command,
                return_state=True,
            )
            watched = state.result(raise_on_failure=False)  # a file that failed fails the state, not the call
            if isinstance(watched, Exception):
                raise watched
            return watched


def run_alone(study: Study, questions: tuple[MeasureSpec, ...], home: Home, command: str) -> Outcome:
    """Train or reuse the study's model and answer some questions in this process, without Prefect or report."""
    with on_terminal():
        _check_alone(study, questions)
        corpus_ids = ingest_all(study, home)
        if questions:
            corpus = Corpus.load(home.corpus(corpus_ids[0]))
            for spec in questions:
                steps.check_measure(spec, corpus, "in the question")
            study = asking(study, questions, corpus)
        return carry_out(study, home, corpus_ids=corpus_ids, questions=questions, command=command, report=False)


def _check_alone(study: Study, questions: tuple[MeasureSpec, ...]) -> None:
    """Divergences are asked of two models at once, so only by a whole run."""
    asked = [spec for spec in questions if spec.measure in DIVERGENCES]
    if asked or (study.compare is not None and questions):
        what = f"{asked[0].measure} compares two corpora" if asked else "the study compares two corpora"
        raise InputError(
            what, where=f"study {study.name}", remedy="run it whole: infosedd run compare --source p=A q=B"
        )


def ingest_alone(source: Source, name: str, home: Home) -> Corpus:
    """Read a source into a corpus, store it and record it."""
    from warehouse import Warehouse

    with on_terminal():
        corpus = steps.read(source, name)
        corpus.save(home.corpora)
        warehouse = Warehouse(home.path)
        warehouse.record_corpus(corpus)
        if known := known_answers(source, name, corpus):
            warehouse.record_truths(known)
        warehouse.publish()
    return corpus


def latest_run(home: Home, study: str | None) -> str:
    """Id of the latest completed run with estimates, of one study or of any; a run of checks only where no other is."""
    from warehouse import queries

    rows = queries.run(
        home.path,
        "select run_id from runs where status = 'completed' and (study = $study or $study is null)"
        " and exists (from run_estimates as e where e.run_id = runs.run_id)"
        " order by exists (from checks as c where c.run_id = runs.run_id), started_at desc limit 1",
        {"study": study},
    )
    if rows.is_empty():
        of = f" of study {study!r}" if study else ""
        raise InputError(
            f"there is no completed run{of} with estimates",
            where=str(home.path),
            remedy="run `infosedd run STUDY` first",
        )
    return rows["run_id"][0]


def study_of_run(home: Home, run_id: str) -> Study | None:
    """The study as a run had it; None for a run of another home."""
    path = home.study_of(run_id)
    return kept_study(path) if path.exists() else None
