"""What a connector says about itself, and the known answers that some of them can give."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from connectors.options import OptionInfo, Options, describe_options
from infosedd.corpus import Corpus

Read = Callable[[Sequence[str], Mapping[str, object], str], Corpus]


@dataclass(frozen=True)
class Truth:
    """A known answer, in nats: the measure of blocks ``x``, ``y`` given ``z``, and how it is known."""

    measure: str
    nats: float
    x: str
    y: str = ""
    z: str = ""
    note: str = ""


@dataclass(frozen=True)
class ConnectorInfo:
    """One connector: ``read(sources, options, name)`` gives a Corpus.

    ``truths(options)`` gives known answers about one corpus, ``divergences(options, others)`` those of the corpus
    of ``options`` from that of ``others``.
    """

    name: str
    summary: str
    formats: tuple[str, ...]
    options_model: type[Options]
    read: Read = field(repr=False)
    truths: Callable[[Mapping[str, object]], tuple[Truth, ...]] | None = field(default=None, repr=False)
    divergences: Callable[[Mapping[str, object], Mapping[str, object]], tuple[Truth, ...]] | None = field(
        default=None, repr=False
    )
    needs_source: bool = True

    @property
    def options(self) -> tuple[OptionInfo, ...]:
        """Every option with its kind, default and description."""
        return tuple(describe_options(self.options_model))
