"""Work that is handed to workers: the same rows as in one process, and an end when the run ends."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flows import steps
from flows.home import Home
from flows.leash import held_by, leash, stop_signal
from flows.pipeline import Awaited, Run, Steps, carry_out
from flows.study import Study
from infosedd.errors import InputError
from warehouse import queries

from .conftest import study_of, write_table


def numbers(home: Home) -> list[tuple]:
    sql = "select measure, mode, x, y, estimator, value_nats, std_error_nats from estimates order by all"
    return queries.run(home.path, sql).rows()


@pytest.fixture
def quick(table: Path) -> Study:
    training = {"budget": "steps", "steps": 5, "batch_size": 32, "evaluate_every": 5}
    model = {"network": [{"kind": "pairwise"}], "training": training, "folds": 2}
    measures = [{"x": "x", "y": "label"}, {"x": "x", "y": "label", "mode": "keep", "window": 3, "step": 3}]
    return study_of(table, model=model, measures=measures)


def test_networks_and_measures_are_handed_out_once_and_give_the_same_rows(quick: Study, home: Home) -> None:
    handed: list[str] = []

    def begin(run: Run, step: str, function: Callable[..., Any], *given: object) -> Awaited:
        handed.append(step)
        with run.during(step):
            result = function(*given)
        return lambda: result

    does = Steps(begin=begin, train_network=steps.train_network)
    spread = carry_out(quick, home, does, report=False)
    assert handed[:2] == ["train network 1 of small", "train network 2 of small"] and len(handed) == 4
    alone = Home.create(home.path.parent / "alone")
    assert carry_out(quick, alone, report=False).model.model_id == spread.model.model_id
    assert numbers(home) == numbers(alone)
    handed.clear()
    assert carry_out(quick, home, does, report=False).model.reused
    assert [step.split()[0] for step in handed] == ["estimate", "estimate"]


def test_work_stops_when_its_run_is_gone(home: Home) -> None:
    with leash(home) as file:
        with held_by(file):
            stop = stop_signal()
            assert stop is not None and not stop.is_set()
            file.unlink()
            assert stop.wait(10)
        assert stop_signal() is None
    with held_by(None):
        assert stop_signal() is None


def test_training_on_a_leash_saves_its_state(table: Path, home: Home) -> None:
    from infosedd.errors import TrainingStopped
    from infosedd.registry import ModelRegistry

    training = {"budget": "steps", "steps": 1_000_000, "batch_size": 32, "evaluate_every": 5}
    endless = study_of(table, model={"network": [{"kind": "pairwise"}], "training": training, "folds": 2})
    corpus_id = steps.ingest(endless, home)
    with leash(home) as file:
        threading.Thread(target=lambda: (time.sleep(1), file.unlink()), daemon=True).start()
        with pytest.raises(TrainingStopped):
            steps.train_network(endless, home, corpus_id, 0, leash=file)
    (folder,) = home.models.glob(".*.training")
    finished, saved = ModelRegistry(home.models).saved(folder.name.removeprefix(".").removesuffix(".training"))
    assert finished == 0 and len(saved) == 1 and saved[0] > 0


def test_a_warm_start_leaves_its_lineage(quick: Study, home: Home, tmp_path: Path) -> None:
    first = carry_out(quick, home, report=False)
    other = study_of(write_table(tmp_path / "other.csv", seed=1), model=quick.model, measures=quick.measures)
    cold = carry_out(other, home, report=False)
    warm = carry_out(other.model_copy(update={"warm_start": True, "seed": 1}), home, report=False)
    again = carry_out(other.model_copy(update={"warm_start": True, "seed": 1}), home, report=False)
    assert again.model.model_id == warm.model.model_id and again.model.reused
    parents = dict(queries.run(home.path, "select model_id, parent_model_id from score_models").rows())
    assert parents[first.model.model_id] is None and parents[cold.model.model_id] is None
    assert parents[warm.model.model_id] == first.model.model_id  # the other of its own data, but of other folds
    generations = dict(queries.run(home.path, "select model_id, generation from model_lineage").rows())
    assert generations[warm.model.model_id] == 1


def test_a_comparison_starts_cold(table: Path) -> None:
    with pytest.raises(InputError, match="can't be warm-started"):
        study_of(table, warm_start=True, compare={"block": "label"})
