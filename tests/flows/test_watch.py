"""Watching files: only new content, one failure stops none, nothing is lost or doubled."""

import os
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from flows.home import Home
from flows.ledger import Content, Ledger, fingerprint
from flows.runners import Runner
from flows.study import Study
from flows.watching import FileResult, files_of, name_in, one_after_the_other, watch
from infosedd.errors import InputError, SurroundingsError
from warehouse import Warehouse, queries

from .conftest import study_of, write_table


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    for name in "abc":
        write_table(folder / f"{name}.csv", n=80, seed=ord(name))
    return folder


@pytest.fixture
def quick(folder: Path) -> Study:
    training = {"budget": "steps", "steps": 5, "batch_size": 32, "evaluate_every": 5}
    model = {"network": [{"kind": "pairwise"}], "training": training, "folds": 2}
    return study_of(folder / "a.csv", model=model, measures=[{"x": "x", "y": "label"}], sites=[])


def names(contents: Sequence[Content]) -> list[str]:
    return [content.path.name for content in contents]


def pretend(_: Study, new: Sequence[Content], __: Home) -> Iterable[tuple[Content, FileResult]]:
    return [(content, FileResult(content.path, "run")) for content in new]


def test_only_new_content_is_run(quick: Study, folder: Path, home: Home) -> None:
    assert [r.path.name for r in watch(quick, str(folder), home, pretend).results] == ["a.csv", "b.csv", "c.csv"]
    again = watch(quick, str(folder), home, pretend)
    assert (again.results, again.n_files, again.n_seen) == ((), 3, 3)
    os.utime(folder / "a.csv", (1, 1))
    (folder / "b.csv").rename(folder / "renamed.csv")
    (folder / "copy.csv").write_bytes((folder / "c.csv").read_bytes())
    write_table(folder / "new.csv", n=80, seed=1)
    assert [r.path.name for r in watch(quick, str(folder), home, pretend).results] == ["new.csv"]


def test_a_study_that_asks_something_else_sees_everything_anew(quick: Study, folder: Path, home: Home) -> None:
    watch(quick, str(folder), home, pretend)
    assert len(watch(quick.model_copy(update={"seed": 1}), str(folder), home, pretend).results) == 3
    retitled = quick.model_copy(update={"title": "another title"})
    assert watch(retitled, str(folder), home, pretend).results == ()
    assert fingerprint(quick) == fingerprint(retitled)


def test_of_equal_files_one_is_run(quick: Study, folder: Path, home: Home) -> None:
    (folder / "z.csv").write_bytes((folder / "a.csv").read_bytes())
    files = files_of(str(folder))
    assert names(Ledger.of(home).unseen(quick, files)) == ["a.csv", "b.csv", "c.csv"]


def test_a_bad_file_stops_none_and_is_told(quick: Study, folder: Path, home: Home) -> None:
    (folder / "b.csv").write_text("x,label\nACGTAC,A\nACGTA,A\n")
    watched = watch(quick, str(folder), home, one_after_the_other)
    assert [r.path.name for r in watched.failed] == ["b.csv"]
    assert "length" in watched.failed[0].error and watched.failed[0].exit_code == 2
    done = [r for r in watched.results if not r.error]
    assert len({r.corpus_id for r in done}) == len({r.model_id for r in done}) == 2
    rows = queries.run(
        home.path, "select corpus_name, value_nats from latest_estimates where estimator = 'loss_difference'"
    )
    assert dict(rows.rows()) == {r.path.stem: r.nats for r in done}
    assert queries.run(home.path, "select count(*) from failed_runs").item() == 1

    assert watch(quick, str(folder), home, one_after_the_other).results == ()
    retried = watch(quick, str(folder), home, pretend, retry_failed=True)
    assert [r.path.name for r in retried.results] == ["b.csv"]


def test_what_the_surroundings_failed_is_tried_next_time(quick: Study, folder: Path, home: Home) -> None:
    def full_disk(_: Study, new: Sequence[Content], __: Home) -> Iterable[tuple[Content, FileResult]]:
        return [(content, FileResult(content.path, error="disk full", exit_code=3)) for content in new]

    assert len(watch(quick, str(folder), home, full_disk).failed) == 3
    assert len(watch(quick, str(folder), home, pretend).results) == 3


def test_files_come_from_a_folder_or_a_pattern(folder: Path) -> None:
    (folder / "deep").mkdir()
    write_table(folder / "deep" / "d.csv")
    (folder / ".hidden.csv").write_text("")
    (folder / "notes.txt").write_text("")
    assert [p.name for p in files_of(str(folder))] == ["a.csv", "b.csv", "c.csv", "notes.txt"]
    assert [p.name for p in files_of(f"{folder}/*.csv")] == ["a.csv", "b.csv", "c.csv"]
    assert [p.name for p in files_of(f"{folder}/**/*.csv")] == ["a.csv", "b.csv", "c.csv", "d.csv"]
    with pytest.raises(InputError, match="no such folder"):
        files_of(str(folder / "none"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("thread", "did you mean 'threads'"),
        ("threads=tcp://x", "takes no address"),
        ("ray", "threads, processes, dask"),
    ],
)
def test_a_wrong_runner_is_named(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Runner.parse(text, 2)


def test_runners_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    assert str(Runner.parse("processes", 3)) == "processes"
    monkeypatch.setattr("flows.runners.find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"infosedd\[dask\]"):
        Runner.parse("dask", 2)
    monkeypatch.setattr("flows.runners.find_spec", lambda _: object())
    assert str(Runner.parse("dask=tcp://host:8786", 2)) == "dask=tcp://host:8786"


def test_files_of_one_name_in_several_folders_are_corpora_of_their_own(folder: Path) -> None:
    pattern = f"{folder}/**/*.csv"
    assert name_in(pattern, folder / "x" / "a.csv") == "x/a"
    assert name_in(pattern, folder / "y" / "2024.01.csv.gz") == "y/2024.01"
    assert name_in(str(folder), folder / "a.csv") == "a"


def test_a_folder_whose_name_looks_like_a_pattern_is_a_folder(tmp_path: Path) -> None:
    odd = tmp_path / "data[1]"
    odd.mkdir()
    write_table(odd / "a.csv")
    assert files_of(str(odd)) == [odd / "a.csv"]
    assert name_in(str(odd), odd / "a.csv") == "a"


def test_a_device_that_is_not_there_ends_the_watch_and_notes_nothing(quick: Study, folder: Path, home: Home) -> None:
    with pytest.raises(InputError, match="'cuda:99' can't be used"):
        watch(quick, str(folder), home, one_after_the_other, device="cuda:99")
    assert len(watch(quick, str(folder), home, pretend, device="cpu").results) == 3


def started(home: Home, run_id: str) -> None:
    Warehouse(home.path).start_run(run_id, "small", None, {})


def runs(home: Home) -> list[str]:
    return [row[0] for row in queries.run(home.path, "select run_id from runs order by 1").rows()]


def test_what_is_written_is_published_however_the_watch_ends(
    quick: Study, folder: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.watching.PUBLISH_SECONDS", 0.0)
    started(home, "r0")
    seen: list[list[str]] = []

    def stopped(_: Study, new: Sequence[Content], home: Home) -> Iterable[tuple[Content, FileResult]]:
        seen.append(runs(home))
        started(home, "r1")
        yield new[0], FileResult(new[0].path, "r1")
        seen.append(runs(home))
        started(home, "r2")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        watch(quick, str(folder), home, stopped)
    assert seen == [["r0"], ["r0", "r1"]]
    assert runs(home) == ["r0", "r1", "r2"]


def test_the_ledger_is_open_to_others_while_files_are_hashed(
    quick: Study, folder: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flows import ledger

    monkeypatch.setattr(ledger, "WAIT_SECONDS", 0.05)
    digest = ledger.hashlib.file_digest

    def noting(file: object, kind: str) -> object:
        Ledger.of(home).note(quick, Content(folder / "z.csv", "z"), "done")
        return digest(file, kind)  # type: ignore[arg-type]

    monkeypatch.setattr(ledger.hashlib, "file_digest", noting)
    assert names(Ledger.of(home).unseen(quick, files_of(str(folder)))) == ["a.csv", "b.csv", "c.csv"]
    with sqlite3.connect(home.path / "watch.sqlite", isolation_level=None) as db:
        db.execute("BEGIN IMMEDIATE")
        with pytest.raises(SurroundingsError, match=r"another command has held .*wait for that command"):
            Ledger.of(home).note(quick, Content(folder / "a.csv", "a"), "done")


def test_two_schedules_of_one_study_have_names_of_their_own(quick: Study, home: Home) -> None:
    from flows.serving import deployment_name
    from flows.study import with_source

    assert deployment_name(quick, home, None, other_data=False) == "small"
    others = [with_source(quick, [name]) for name in ("a.csv", "b.csv")]
    made = {deployment_name(other, home, None, other_data=True) for other in others}
    made |= {deployment_name(quick, home, place, other_data=False) for place in ("in", "out")}
    assert len(made) == 4 and all(name.startswith("small-") for name in made)
