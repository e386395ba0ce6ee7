"""What callers hand to the writer, besides corpora and estimates, and the error for a row that is refused."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from infosedd.errors import InfoseddError

END_STATUSES = ("completed", "failed", "interrupted", "crashed")


class RefusedRow(InfoseddError):
    """A row that must not enter the warehouse: a number that is not finite, an unknown name, a missing parent."""


class Card(Protocol):
    """What the warehouse reads of a model's card."""

    @property
    def model_id(self) -> str: ...
    @property
    def corpus_id(self) -> str: ...
    @property
    def process(self) -> str: ...
    @property
    def network(self) -> str: ...
    @property
    def config(self) -> Mapping: ...
    @property
    def n_parameters(self) -> int: ...
    @property
    def train_steps(self) -> int: ...
    @property
    def train_seconds(self) -> float: ...
    @property
    def held_out_loss_nats(self) -> float | None: ...
    @property
    def weights_sha256(self) -> str: ...
    @property
    def parent_model_id(self) -> str | None: ...
    @property
    def created_at(self) -> str: ...


@dataclass(frozen=True)
class Origin:
    """What an estimate's identity holds besides the quantity itself."""

    study: str
    corpus_id: str
    model_id: str | None
    seed: int
    reference_corpus_id: str | None = None
    reference_model_id: str | None = None


@dataclass(frozen=True)
class Truth:
    """A known answer about a corpus, in nats; ``bound`` says whether it is the truth itself or bounds it.

    A divergence is from the corpus ``reference_corpus_id``, which is empty for all else.
    """

    study: str
    corpus_id: str
    measure: str
    value_nats: float
    source: str
    x: str = ""
    y: str = ""
    z: str = ""
    mode: str = "whole"
    bound: Literal["exact", "lower", "upper"] = "exact"
    reference_corpus_id: str = ""


@dataclass(frozen=True)
class Check:
    """The outcome of a consistency check: what should hold, and what was seen, in nats."""

    study: str
    corpus_id: str
    name: str
    claim: str
    passed: bool
    observed_nats: float | None = None
    expected_nats: float | None = None
    tolerance_nats: float | None = None
    model_id: str | None = None
    seed: int = 0
    run_id: str | None = None


@dataclass(frozen=True)
class ExternalScore:
    """A score that someone else gave to a corpus, by the corpus's name."""

    study: str
    corpus_name: str
    score: str
    value: float
    unit: str
    source: str
    higher_is_better: bool = True
