"""Making room: which models go, what is said of them, and what is left."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from filelock import FileLock

from flows.cli import invoke
from flows.home import Home
from flows.pipeline import carry_out
from flows.pruning import carry_out as prune
from flows.pruning import plan
from flows.study import Study
from infosedd.card import ModelCard
from infosedd.errors import InputError, SurroundingsError
from infosedd.registry import ModelRegistry
from infosedd.results import Estimate
from warehouse import Warehouse, queries

from .conftest import write_table


def add_model(home: Home, name: str, day: int, corpus: str = "c", parent: str | None = None, size: int = 1000) -> None:
    """A model's folder: a card, and weights that nobody opens."""
    made = f"2026-01-{day:02}T00:00:00"
    card = ModelCard(name, corpus, corpus, "absorbing", "pairwise", (), {}, 1, 1, 1.0, 1.0, "", 0, made, parent)
    folder = home.models / name
    folder.mkdir(parents=True)
    (folder / "card.json").write_text(json.dumps(asdict(card)))
    (folder / "weights.safetensors").write_bytes(bytes(size))


def names(models: tuple) -> list[str]:
    return [model.card.model_id for model in models]


def test_the_newest_of_each_corpus_stay(home: Home) -> None:
    for day, name in enumerate(("a1", "a2", "a3"), 1):
        add_model(home, name, day, "a")
    add_model(home, "b1", 1, "b")
    assert names(plan(home, 1).gone) == ["a1", "a2"]
    assert names(plan(home, 2).gone) == ["a1"]
    assert names(plan(home, 3).gone) == []
    with pytest.raises(InputError, match="keep at least one"):
        plan(home, 0)


def test_what_still_points_to_a_model_is_said(home: Home) -> None:
    add_model(home, "old", 1)
    add_model(home, "new", 2, parent="old")
    assert plan(home, 1).gone[0].named_by == ("parent of new",)


def _record(home: Home, study: str, model_id: str, corpus: str, reference: str | None = None) -> None:
    warehouse = Warehouse(home.path)
    run_id = f"{study}-{model_id}"
    warehouse.start_run(run_id, study)
    answer = Estimate("entropy" if reference is None else "kl_divergence", 1.0, 0.1, 0.5, 1.5, 10, x="x")
    warehouse.record_estimates(run_id, study, corpus, model_id, 0, [answer], reference_model_id=reference)
    warehouse.publish()


def test_each_study_keeps_its_own_and_latest_estimates_are_named(home: Home, study: Study) -> None:
    from flows.steps import read

    corpus = read(study.source, "c")
    warehouse = Warehouse(home.path)
    warehouse.record_corpus(corpus)
    for day, name in enumerate(("m1", "m2", "m3"), 1):
        add_model(home, name, day)
        card = ModelRegistry(home.models).cards()[-1]
        warehouse.record_model(ModelCard(**{**asdict(card), "corpus_id": corpus.corpus_id}), home.models / name)
    _record(home, "first", "m1", corpus.corpus_id)
    _record(home, "second", "m2", corpus.corpus_id)
    _record(home, "second", "m3", corpus.corpus_id, reference="m2")
    planned = plan(home, 1)
    assert names(planned.kept) == ["m1", "m3"]  # the only one of the first study, the newest of the second
    assert names(planned.gone) == ["m2"]
    assert planned.gone[0].named_by == ("2 latest estimates",)
    assert planned.gone[0].studies == ("second",)


def test_a_pruned_model_leaves_its_card_and_nothing_else(home: Home) -> None:
    add_model(home, "old", 1)
    add_model(home, "new", 2)
    planned = plan(home, 1)
    assert planned.n_bytes > 1000
    prune(home, planned)
    assert [card.model_id for card in ModelRegistry(home.models).cards()] == ["new"]
    assert json.loads((home.models / "pruned" / "old.json").read_text())["model_id"] == "old"
    assert not list(home.models.glob("*old*/")) and not list(home.models.glob(".old*pruned*"))


def test_what_a_killed_prune_left_does_not_hinder_the_next(home: Home) -> None:
    add_model(home, "old", 1)
    add_model(home, "new", 2)
    left = home.models / ".old-pruned"
    left.mkdir()
    (left / "weights.safetensors").write_bytes(b"half")
    prune(home, plan(home, 1))
    assert not left.exists() and not (home.models / "old").exists()


def test_a_model_in_use_is_left_alone(home: Home) -> None:
    add_model(home, "old", 1)
    add_model(home, "new", 2)
    with FileLock(home.models / ".old.lock"), pytest.raises(SurroundingsError, match="in use by another process"):
        prune(home, plan(home, 1))
    assert (home.models / "old" / "weights.safetensors").exists()


def test_the_command_says_what_goes_and_a_dry_run_removes_nothing(
    home: Home, study: Study, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    carry_out(study, home, report=False)
    write_table(table, seed=1)
    carry_out(study, home, report=False)
    old, new = ModelRegistry(home.models).cards()
    option = ("--home", str(home.path))

    assert invoke(["models", *option]) == 0
    listed = capsys.readouterr().out
    assert old.model_id in listed and new.model_id in listed and "small" in listed
    assert invoke(["models", "prune", "--keep", "1", "--dry-run", *option]) == 0
    said = capsys.readouterr().out
    assert "1 model would be removed" in said and old.model_id in said and new.model_id not in said
    assert len(ModelRegistry(home.models).cards()) == 2
    assert invoke(["models", *option, "prune", "--keep", "1"]) == 0
    said = capsys.readouterr().out
    assert "1 model removed" in said and "1 model kept" in said and "results stay" in said
    assert [card.model_id for card in ModelRegistry(home.models).cards()] == [new.model_id]
    kept = queries.run(home.path, "SELECT count(*) FROM score_models").item()
    assert kept == 2

    write_table(table, seed=0)
    assert not carry_out(study, home, report=False).model.reused  # the old data: trained again under the same id
    assert {card.model_id for card in ModelRegistry(home.models).cards()} == {old.model_id, new.model_id}


def test_a_damaged_model_is_told_of_and_the_others_listed(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    Warehouse(home.path).publish()
    for day, name in enumerate(("whole", "torn"), 1):
        add_model(home, name, day)
    card = home.models / "torn" / "card.json"
    card.write_text(card.read_text()[:-10])
    said = []
    for option in ((), ("--json",)):
        assert invoke(["models", "--home", str(home.path), *option]) == 0
        said.append(capsys.readouterr())
        (warning,) = said[-1].err.splitlines()
        assert warning.startswith("warning: ") and str(card.parent) in warning and "train it again" in warning
    assert "whole" in said[0].out and "torn" not in said[0].out
    assert [card["model_id"] for card in json.loads(said[1].out)] == ["whole"]


def test_nothing_to_prune_is_no_error(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    Warehouse(home.path).publish()
    assert invoke(["models", "prune", "--keep", "2", "--home", str(home.path)]) == 0
    assert "0 models removed" in capsys.readouterr().out
    assert invoke(["models", "prune", "--keep", "0", "--home", str(home.path)]) == 2
