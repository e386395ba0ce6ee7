"""The list of connectors, the guess of one from a path, and ``ingest``."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from connectors.errors import ConnectorError
from connectors.guessing import guess
from connectors.info import ConnectorInfo, Truth
from connectors.watching import told
from infosedd.blocks import near_names
from infosedd.corpus import Corpus
from infosedd.progress import ProgressCallback, silent

NAMES = ("fasta", "table", "text", "hub", "regions", "motifs", "variants", "ising", "synthetic")
"""One module of this package for each, which defines ``INFO``."""


def connectors() -> list[ConnectorInfo]:
    """Every connector, in the order of the documentation."""
    return [get(name) for name in NAMES]


def get(name: str) -> ConnectorInfo:
    """The connector of that name; an unknown one is an error that says which there are."""
    if name not in NAMES:
        raise ConnectorError(f"there is no connector {name!r}", remedy=near_names(name, NAMES))
    return import_module(f"connectors.{name}").INFO


def ingest(
    connector: str | None,
    sources: Sequence[str | Path],
    options: Mapping[str, object] | None = None,
    *,
    name: str,
    progress: ProgressCallback = silent,
) -> Corpus:
    """Read ``sources`` with a connector (``None``: guess it, and say so in the corpus's notes).

    ``progress`` is told how much of a long file is read.
    """
    with told(progress):
        return _ingest(connector, [str(source) for source in sources], options, name)


def _ingest(connector: str | None, texts: list[str], options: Mapping[str, object] | None, name: str) -> Corpus:
    if connector is not None:
        return get(connector).read(texts, options or {}, name)
    if not texts:
        raise ConnectorError("neither a connector nor a source is given", remedy="name a file or a connector")
    guessed = guess(texts[0])
    corpus = get(guessed.connector).read(texts, options or {}, name)
    note = f"read with the {guessed.connector} connector: {guessed.reason}"
    return replace(corpus, provenance=replace(corpus.provenance, notes=(note, *corpus.provenance.notes)))


def divergences(connector: str, options: Mapping[str, object], others: Mapping[str, object]) -> tuple[Truth, ...]:
    """Known divergences of what a connector draws with ``options`` from what it draws with ``others``."""
    info = get(connector)
    return info.divergences(options, others) if info.divergences else ()


def truths(connector: str, options: Mapping[str, object]) -> tuple[Truth, ...]:
    """Known answers for what a connector draws with these options; empty for connectors that read files."""
    info = get(connector)
    return info.truths(options) if info.truths else ()
