"""Watching files: only new content, one failure stops none, nothing is lost or doubled."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from flows.home import Home
from flows.ledger import Content, Ledger, fingerprint
from flows.runners import Runner
from flows.study import Study
from flows.watching import FileResult, files_of, one_after_the_other, watch
from infosedd.errors import InputError
from warehouse import queries

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
