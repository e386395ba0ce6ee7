"""Homes with made-up results, for tests of the report: recorded by the real warehouse, no model trained."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import log
from pathlib import Path

import numpy as np
import pyarrow as pa

from infosedd.blocks import Block, Vocabulary
from infosedd.corpus import Corpus, Provenance
from infosedd.results import Estimate
from warehouse import Check, Truth, Warehouse

RUN = "run-1"
DNA = Vocabulary(tuple("ACGT"))
HOSTILE = '<script>alert("x")</script> $\\frac{ & \'"\x1b[31m \u202e</text></svg>'


@dataclass(frozen=True)
class MadeCard:
    """What the warehouse reads of a model's card."""

    model_id: str
    corpus_id: str
    process: str = "absorbing"
    network: str = "pairwise"
    config: dict = field(default_factory=lambda: {"training": {"steps": 10}})
    n_parameters: int = 1234
    train_steps: int = 10
    train_seconds: float = 1.5
    held_out_loss_nats: float | None = 7.5
    weights_sha256: str = "ab" * 32
    parent_model_id: str | None = None
    created_at: str = "2026-01-01T00:00:00+00:00"


def make_estimate(measure: str, nats: float, std_error: float, *, n: int = 400, **more) -> Estimate:
    low, high = nats - 1.96 * std_error, nats + 1.96 * std_error
    return Estimate(measure, nats, std_error, low, high, n, **more)


def promoter_corpus(n: int = 400, length: int = 20, classes: Sequence[str] = ("low", "high"), **more) -> Corpus:
    """Sequences whose positions 8 to 11 tell the label; ids are those of FASTA headers."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, len(classes), n)
    codes = rng.integers(0, 4, (n, length))
    codes[:, 8:12] = np.where(rng.random((n, 4)) < 0.7, labels[:, None] % 4, codes[:, 8:12])
    ids = pa.array([HOSTILE if row == 3 else f"seq{row}" for row in range(n)])
    return Corpus(
        "promoters",
        (Block("promoter", DNA, length), Block("label", Vocabulary(tuple(classes)), 1)),
        {"promoter": codes, "label": labels[:, None]},
        sequence_ids=ids,
        provenance=Provenance("fasta", "a.fa", "cd" * 32, {"label": True}, n + 2, {"letter N": 2}, {}, ("guessed",)),
        **more,
    )


def promoter_estimates(corpus: Corpus, width: int = 4) -> list[Estimate]:
    """The whole with its others and pointwise values, and keep and remove windows."""
    rng = np.random.default_rng(1)
    length, n = corpus.block("promoter").length, corpus.n
    about = {"ln_n": log(n), "entropy_y_nats": log(2)}
    pair = {"x": "promoter", "y": "label", "n": n}
    pointwise = rng.normal(0.4, 0.5, n)
    others = tuple(
        make_estimate("mutual_information", value, 0.01, estimator=name, diagnostics={"ln_n": log(n)}, **pair)
        for name, value in (("dynkin", 0.42), ("plug_in", 0.69), ("per_position_plug_in", 0.5))
    )
    value = float(pointwise.mean())
    whole = make_estimate("mutual_information", value, 0.02, diagnostics=about, others=others, **pair)
    whole = replace(whole, pointwise=pointwise, rows=np.arange(n), warnings=("it was trained for a moment only",))
    found = [whole]
    for mode in ("keep", "remove"):
        for start in range(length - width + 1):
            inside = len(set(range(start, start + width)) & set(range(8, 12))) / 4
            nats = 0.3 * inside if mode == "keep" else value - 0.2 * inside
            x = f"promoter[{start}:{start + width}]"
            window = {"x": x, "y": "label", "n": n, "mode": mode, "diagnostics": about}
            found.append(make_estimate("mutual_information", nats + 0.001 * start, 0.01, **window))
    return found


def record(
    home: Path,
    study: str,
    parts: Sequence[tuple[Corpus, Sequence[Estimate]]],
    *,
    truths: Sequence[Truth] = (),
    checks: Sequence[Check] = (),
    status: str = "completed",
    error: str | None = None,
    store: bool = True,
    run_id: str = RUN,
) -> Path:
    """Record a run over corpora, each with the estimates on it, and publish it."""
    warehouse = Warehouse(home)
    warehouse.start_run(run_id, study, "flow-1", {"infosedd": "0.1.0", "torch": "2.13.0"})
    for number, (corpus, estimates) in enumerate(parts):
        warehouse.record_corpus(corpus)
        if store:
            corpus.save(home / "corpora")
        card = MadeCard(f"model{number}", corpus.corpus_id)
        warehouse.record_model(card, home / "models" / card.model_id)
        warehouse.record_estimates(
            run_id, study, corpus.corpus_id, card.model_id, 0, estimates, sequence_ids=corpus.sequence_ids
        )
    warehouse.record_truths(truths)
    warehouse.record_checks(checks)
    warehouse.finish_run(run_id, status, error)
    warehouse.publish()
    return home


def promoter_home(home: Path, **more) -> Path:
    corpus = promoter_corpus()
    return record(home, "promoters", [(corpus, promoter_estimates(corpus))], **more)
