"""Training: what it may not carry over, what it judges by, and saved states that are no use."""

import json
from dataclasses import asdict
from pathlib import Path
from threading import Event

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from infosedd.arrays import corpus_of
from infosedd.config import ModelConfig
from infosedd.corpus import Corpus
from infosedd.errors import InputError
from infosedd.fitting import Fitting, components_for
from infosedd.layout import Layout
from infosedd.model import ScoreModel
from infosedd.networks import PairwiseConfig, ScoreNetwork, build
from infosedd.pace import History, Pace, TrainingConfig
from infosedd.processes import AbsorbingProcess
from infosedd.queries import QueryMix, TrainingQuery
from infosedd.schedules import LogLinearSchedule
from infosedd.training import Data, NonFiniteLossError, Trainer
from tests.infosedd.laws import layout_of

QUERY = {"noised": "y", "clean": "x"}
WITH_RESIDUAL = [
    {"kind": "pairwise"},
    {"kind": "mlp", "width": 32, "residual": True, "learning_rate": 1e-2},
]


def settings(steps: int, network: list | None = None, **training: object) -> dict:
    own = {"budget": "steps", "steps": steps, "batch_size": 128, "evaluate_every": 10, "warmup": 5, **training}
    return {"training": own, "folds": 2, "queries": [QUERY], "network": network or [{"kind": "pairwise"}]}


def bits(n: int, seed: int = 0, *, parity: bool = False) -> Corpus:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, (n, 2))
    return corpus_of({"x": x, "y": x.sum(1) % 2 if parity else rng.integers(0, 2, n)})


def trainer_of(layout: Layout, *, sparsity: float = 0.0, queries: tuple[TrainingQuery, ...] = ()) -> Trainer:
    marginals = {b.name: torch.full((b.length, b.vocabulary.size), 1 / b.vocabulary.size) for b in layout.blocks}
    network = build(layout, [PairwiseConfig(sparsity=sparsity)], marginals, 0)
    mix = QueryMix(queries or (TrainingQuery(noised="+".join(layout.names)),), layout)
    return Trainer(network, TrainingConfig(), mix, AbsorbingProcess(), LogLinearSchedule(), seed=0)


def test_a_warm_start_leaves_the_parents_residual_behind() -> None:
    """Switched on untested after the child's base had settled, it gave -6 nats where the truth is 0."""
    parent = ScoreModel.fit(bits(2000, parity=True), settings(300, WITH_RESIDUAL))
    assert all(h.residual_kept for h in parent.histories)
    child = ScoreModel.fit(bits(2000, seed=1), settings(40, WITH_RESIDUAL), parent=parent)
    for history in child.histories:
        assert history.kept is not None
        assert history.kept < min(history.held_out) + 0.02
    assert abs(child.mutual_information("x", "y").nats) < 0.05


def test_a_residual_that_was_not_kept_is_not_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = bits(400)
    model = ScoreModel.fit(corpus, settings(20, WITH_RESIDUAL))
    nats = model.mutual_information("x", "y").nats
    kept = [h.residual_kept for h in model.histories]
    assert False in kept
    monkeypatch.setattr("infosedd.networks.mlp.MLP.forward", None)
    again = ScoreModel.load(model.save(tmp_path / "model"), corpus)
    for networks in (model.networks, again.networks):
        assert [network.residual_active for members in networks for network in members] == kept
    if not any(kept):
        assert again.mutual_information("x", "y").nats == nats


def after_one_look() -> tuple[Trainer, list[tuple]]:
    """A trainer that has looked once at the held-out batches beside it."""
    trainer = trainer_of(layout_of(x=(2, 3)))
    tokens = torch.randint(0, 3, (200, 2), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    held_out = trainer._held_out_batches(Data(tokens))
    trainer._look(held_out)
    return trainer, held_out


def test_gains_are_told_from_the_weights_that_are_kept() -> None:
    """After weights that look worse by chance alone were preferred, a gain on them counts."""
    trainer, held_out = after_one_look()
    first = trainer.history.held_out[0]
    trainer.history.held_out[0], trainer.history.best_loss = first - 1, first + 1
    trainer.step = 100
    trainer._look(held_out)
    assert trainer.history.best_step == 100
    assert trainer.history.best_loss == pytest.approx(first)


def test_progress_is_more_than_chance_and_worth_the_name() -> None:
    history = History(held_out=[10.0, 4.0])
    assert history.is_progress(gain=0.1, std_error=0.05)
    assert not history.is_progress(gain=0.1, std_error=0.2)
    assert not history.is_progress(gain=0.005, std_error=0.0)


def test_a_level_phase_ends_once_progress_is_long_ago() -> None:
    """In the first of two stages after a quarter of the steps so far, in the last after four tenths."""
    history = History(progress_step=3000)
    before, last = (Pace(TrainingConfig(patience=100), history, n_stages) for n_stages in (2, 1))
    assert not before._has_stalled(3900)
    assert before._has_stalled(4000)
    assert not last._has_stalled(4900)
    assert last._has_stalled(5000)


def test_progress_is_measured_from_the_last_look_that_made_some() -> None:
    """Small gains add up, and a residual's stage begins afresh."""
    trainer, held_out = after_one_look()
    mark = trainer._mark.clone()
    for step, gain in ((100, 0.0), (200, 1.0), (300, 0.0)):
        trainer.step = step
        trainer._mark = mark + gain
        trainer._look(held_out)
    assert trainer.history.progress_step == 200
    trainer._settle(held_out)
    assert trainer.history.progress_step == 300


def test_a_groups_rows_are_one_witness() -> None:
    """Rows of a group that agree say no more than one of them."""
    trainer = trainer_of(layout_of(x=(2, 3)))
    tokens = torch.randint(0, 3, (400, 2), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    groups = torch.arange(400) // 100
    alone, grouped = (trainer._held_out_batches(Data(tokens, groups=g)) for g in (None, groups))
    difference = torch.randn(4, generator=torch.Generator().manual_seed(1)).double().repeat_interleave(100)
    copies = len(torch.cat([rows for *_, rows in alone])) // 400

    def error(batches: list[tuple]) -> float:
        units = torch.cat([u for *_, u in batches])
        rows = units if batches is grouped else groups[units]
        return trainer._paired(difference[rows * 100], torch.zeros(400 * copies).double(), batches)[1]

    assert error(grouped) > 5 * error(alone)


def test_the_penalty_counts_draws_not_rows() -> None:
    tokens = torch.zeros(100, 2, dtype=torch.uint8)
    counts = torch.full((100,), 50.0, dtype=torch.float64)
    assert Data(tokens).n_draws == 100
    assert Data(tokens, counts).n_draws == 5000
    assert Data(tokens, counts, "weight").n_draws == pytest.approx(100)
    assert Data(tokens, torch.arange(100).double(), "weight").n_draws == pytest.approx(74.6, abs=0.1)


def test_auto_judges_the_sample_by_draws() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 4, (300, 40))
    few = corpus_of({"x": x})
    many = Corpus("many", few.blocks, few.tokens, weights=np.full(few.n, 100.0))
    assert len(components_for(few, ModelConfig())) == 1
    assert len(components_for(many, ModelConfig())) == 2


def test_hidden_tokens_and_weights_show_in_what_is_seen() -> None:
    """(L, L) exposure: a position that the data hides is not seen, and rows count by their weight."""
    layout = layout_of(x=(1, 2), y=(1, 2))
    trainer = trainer_of(layout, queries=(TrainingQuery(**QUERY),))
    tokens = torch.zeros(1000, 2, dtype=torch.uint8)
    assert float(trainer._exposures(Data(tokens))[0, 1]) == pytest.approx(1)
    tokens[:500, 0] = 2
    assert float(trainer._exposures(Data(tokens))[0, 1]) == pytest.approx(0.5, abs=0.05)
    weights = torch.where(torch.arange(1000) < 500, 1.0, 9.0).double()
    assert float(trainer._exposures(Data(tokens, weights))[0, 1]) == pytest.approx(0.9, abs=0.05)


def test_the_last_gain_has_an_error() -> None:
    model = ScoreModel.fit(bits(600, parity=True), settings(100))
    for history in model.histories:
        lowest = np.minimum.accumulate(history.held_out)
        assert history.last_gain_nats == pytest.approx(lowest[history.last_tenth] - lowest[-1], abs=1e-6)
        assert history.last_gain_std_error_nats is not None
        assert 0 <= history.last_gain_std_error_nats < 0.1


def test_a_gain_within_its_error_is_not_one() -> None:
    assert History().still_falls  # nobody can tell
    assert History(last_gain_nats=0.3, last_gain_std_error_nats=0.1).still_falls
    assert not History(last_gain_nats=0.1, last_gain_std_error_nats=0.1).still_falls
    assert not History(last_gain_nats=0.0, last_gain_std_error_nats=0.0).still_falls


class _Killed(BaseException):
    """Stands for a kill: nothing in the code may catch it."""


@pytest.mark.parametrize("damage", ["truncated", "lacks a tensor", "other shapes", "another release", "no history"])
def test_a_saved_state_that_is_no_use_is_begun_again(tmp_path: Path, damage: str) -> None:
    corpus, config = bits(300), settings(40, WITH_RESIDUAL, checkpoint_seconds=1e-9)
    whole = ScoreModel.fit(corpus, config)

    def kill(progress) -> None:
        if progress.done > 0.2:
            raise _Killed

    with pytest.raises(_Killed):
        ScoreModel.fit(corpus, config, progress=kill, checkpoint_folder=tmp_path)
    (file,) = tmp_path.glob("fold-0.0.safetensors")
    spoil(file, damage)
    said: list[str] = []
    again = ScoreModel.fit(corpus, config, progress=lambda p: said.append(p.message), checkpoint_folder=tmp_path)
    assert any("training starts again" in message for message in said)
    assert again.card.weights_sha256 == whole.card.weights_sha256


@pytest.mark.parametrize("damage", ["truncated", "lacks a tensor", "another release", "no history"])
def test_a_finished_network_that_is_no_use_is_trained_again(tmp_path: Path, damage: str) -> None:
    corpus, config = bits(300), settings(20)
    whole = ScoreModel.fit(corpus, config, checkpoint_folder=tmp_path)
    spoil(tmp_path / "fold-1.0.finished.safetensors", damage)
    (tmp_path / "fold-1.0.safetensors").unlink(missing_ok=True)
    said: list[str] = []
    again = ScoreModel.fit(corpus, config, progress=lambda p: said.append(p.message), checkpoint_folder=tmp_path)
    assert any("it is trained again" in message for message in said)
    assert again.card.weights_sha256 == whole.card.weights_sha256


def spoil(file: Path, damage: str) -> None:
    from safetensors import safe_open

    if damage == "truncated":
        file.write_bytes(file.read_bytes()[:-20])
        return
    with safe_open(file, "pt") as opened:
        facts = opened.metadata()
    tensors = {name: value.clone() for name, value in load_file(file).items()}
    first = next(name for name in tensors if name != "lowest")
    if damage == "lacks a tensor":
        del tensors[first]
    elif damage == "other shapes":
        tensors["now.0"] = torch.zeros(3)
    elif damage == "another release":
        facts["training_version"] = "0"
    else:
        facts["history"] = json.dumps({"unheard_of": 1})
    save_file(tensors, file, metadata=facts)


def test_a_loss_that_diverges_is_the_users_to_mend() -> None:
    assert issubclass(NonFiniteLossError, InputError)
    assert NonFiniteLossError(3).exit_code == 2


def test_marginals_are_counted_by_draw() -> None:
    corpus = bits(300)
    weighted = Corpus("w", corpus.blocks, corpus.tokens, weights=np.arange(300) % 3 + 1.0, weight_kind="weight")
    for each in (corpus, weighted):
        fitting = Fitting(each, ModelConfig.parse(settings(5)), 0)
        network: ScoreNetwork = fitting._network(fitting.jobs[0])
        rows = fitting.folds[0].training
        weights = np.ones(len(rows)) if each.weights is None else each.weights[rows] / each.weights[rows].mean()
        ones = (weights * each.tokens["x"][rows, 0]).sum() + 0.25
        law = network.get_buffer("log_marginal_block_x").exp()[0, 1]
        assert float(law) == pytest.approx(ones / (weights.sum() + 0.5), rel=1e-5)


def test_history_is_plain_values() -> None:
    trainer = trainer_of(layout_of(x=(2, 3)))
    tokens = torch.randint(0, 3, (100, 2), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    trainer.config = TrainingConfig(budget="steps", steps=3)
    trainer._begin()
    trainer.stop = Event()
    history = trainer.fit(Data(tokens), Data(tokens, groups=torch.zeros(100, dtype=torch.int64)))
    assert history.last_gain_std_error_nats is None  # one group: it can't be told
    assert History(**json.loads(json.dumps(asdict(history), allow_nan=False))) == history
