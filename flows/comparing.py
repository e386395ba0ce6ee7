"""A comparison: two corpora p and q, and the even mixture of both with a block that says which.

KL(p || q) takes a model of each corpus. The Jensen-Shannon divergence with equal priors is the mutual
information of a row and its label in the mixture, so it takes a model of that.
"""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from flows import steps
from flows.grid import grid_points, point_label
from flows.home import Home
from flows.progress import stage
from flows.settings import settings
from flows.steps import Answer
from flows.study import DIVERGENCES, Compare, MeasureSpec, Study
from infosedd.blocks import Block, Vocabulary, near_names
from infosedd.corpus import SPLITS, Corpus, Provenance
from infosedd.errors import InputError
from infosedd.randomness import numpy_stream

NAMES = ("p", "q")


@dataclass(frozen=True)
class Sides:
    """The two corpora, and their even mixture with the block of labels last."""

    p: Corpus
    q: Corpus
    mixture: Corpus


@dataclass(frozen=True)
class Side:
    """One corpus of a comparison and its model, by their ids."""

    corpus_id: str
    model_id: str
    name: str


@dataclass(frozen=True)
class Work:
    """A corpus that needs a model: the study of it alone, and what is asked of that model."""

    study: Study
    asked: tuple[MeasureSpec, ...]


def ingest_sides(study: Study, home: Home) -> tuple[str, str, str]:
    """Read what a study compares, check the study against it, store the corpora; returns the ids of p, q, mixture."""
    sides = read_sides(study)
    for work, corpus in zip(works(study, sides), (sides.p, sides.q, sides.mixture), strict=True):
        steps.check(work.study, corpus)
        if work.study.measures:
            steps.check_model(work.study, corpus)
        corpus.save(home.corpora)
    return sides.p.corpus_id, sides.q.corpus_id, sides.mixture.corpus_id


def read_sides(study: Study) -> Sides:
    """The corpora that a study compares: two points of its grid, or two values of a block of one source."""
    compare = _compare_of(study)
    if study.grid:
        return _of_points(study, compare)
    paths = _labelled(study.source.path)
    if study.source.connector is None and not paths:
        raise InputError(
            "there is nothing to compare", where=f"in study {study.name}", remedy="give two files: --source p=A q=B"
        )
    corpus = steps.read(study.source.model_copy(update={"path": paths}), study.corpus_name)
    symbols = chosen_symbols(corpus, compare)
    p, q = (rows_where(corpus, compare.block, symbol, f"{study.corpus_name} {symbol}") for symbol in symbols)
    if p.corpus_id == q.corpus_id:
        p, q = halves(p, q.name, study.seed)
    return Sides(p, q, mixture(p, q, compare.block, symbols, study.corpus_name, shared_groups=True))


def works(study: Study, sides: Sides) -> tuple[Work, Work, Work]:
    """What is to be trained and asked on p, q and their mixture, with blocks named in full.

    Divergences but for Jensen-Shannon's are asked of p and q together; any other measure of each alone.
    """
    block = _compare_of(study).block
    everything = "+".join(b.name for b in sides.p.blocks)
    specs = [spec if spec.x.strip() else spec.model_copy(update={"x": everything}) for spec in study.measures]
    mixed = tuple(
        spec.model_copy(update={"y": spec.y or block}) for spec in specs if spec.measure == "jensen_shannon_divergence"
    )
    alone = tuple(spec for spec in specs if spec.measure not in DIVERGENCES)
    both = tuple(spec for spec in specs if spec.measure == "kl_divergence")
    of_side = study.model_copy(update={"measures": (*both, *alone), "grid": {}})
    of_mixture = study.model_copy(update={"measures": mixed, "grid": {}})
    return Work(of_side, alone), Work(of_side, alone), Work(of_mixture, mixed)


def directed(study: Study) -> tuple[MeasureSpec, ...]:
    """The questions of a side's study that are asked of p against q, and of q against p."""
    return tuple(spec for spec in study.measures if spec.measure == "kl_divergence")


def answer_between(study: Study, spec: MeasureSpec, home: Home, run_id: str, here: Side, there: Side) -> Answer:
    """KL of one corpus from the other, or what the warehouse has of it, recorded under the run."""
    from flows.stored import stored_answer
    from warehouse import Warehouse

    start = time.monotonic()
    corpus = Corpus.load(home.corpus(here.corpus_id))
    found = stored_answer(study, spec, home, corpus, here.model_id, there.model_id)
    estimates = found or [_divergence(spec, home, corpus, here, there)]
    Warehouse(home.path).record_estimates(
        run_id,
        study.name,
        here.corpus_id,
        here.model_id,
        study.seed,
        estimates,
        reused=bool(found),
        reference_corpus_id=there.corpus_id,
        reference_model_id=there.model_id,
    )
    return Answer(spec, tuple(estimates), bool(found), time.monotonic() - start, against=there.name)


def _divergence(spec: MeasureSpec, home: Home, corpus: Corpus, here: Side, there: Side):
    from infosedd.divergence import kl_divergence
    from infosedd.registry import ModelRegistry

    stage(f"estimating {spec.label} of {corpus.name} from {there.name}")
    steps.use_threads()
    registry, other = ModelRegistry(home.models), Corpus.load(home.corpus(there.corpus_id))
    device = settings().device
    p, q = (registry.open(side.model_id, its, device=device) for side, its in ((here, corpus), (there, other)))
    return kl_divergence(p, q, spec.x)


def chosen_symbols(corpus: Corpus, compare: Compare) -> tuple[str, str]:
    """The two symbols of the block of labels that are compared; an InputError where they are not there."""
    block = corpus.block(compare.block)
    symbols = block.vocabulary.symbols
    if block.length != 1:
        raise InputError(
            f"block {block.name!r} has {block.length} tokens, so it can't say which corpus a row is of",
            where=f"in corpus {corpus.name!r}",
            remedy="name a block of one token as compare.block",
        )
    if len(symbols) < 2 or (len(symbols) > 2 and not (compare.p and compare.q)):
        raise InputError(
            f"block {block.name!r} has {len(symbols)} values",
            where=f"in corpus {corpus.name!r}",
            remedy=f"name two as compare.p and compare.q; known: {', '.join(symbols)}",
        )
    p = compare.p or next(s for s in symbols if s != compare.q)
    q = compare.q or next(s for s in symbols if s != p)
    for symbol in (p, q):
        if symbol not in symbols:
            raise InputError(
                f"block {block.name!r} has no value {symbol!r}",
                where=f"in corpus {corpus.name!r}",
                remedy=near_names(symbol, symbols),
            )
    if p == q:
        raise InputError(f"p and q are both {p!r}", where=f"in corpus {corpus.name!r}", remedy="name two values")
    return p, q


def rows_where(corpus: Corpus, block: str, symbol: str, name: str) -> Corpus:
    """The rows whose block of labels is ``symbol``, without that block."""
    label = corpus.block(block)
    rows = np.flatnonzero(corpus.tokens[block][:, 0] == label.vocabulary.code_of[symbol])
    kept = tuple(b for b in corpus.blocks if b.name != block)
    if not kept or not len(rows):
        what = "there is no block to compare" if not kept else f"no row has {block} = {symbol!r}"
        raise InputError(what, where=f"in corpus {corpus.name!r}", remedy="check the source and compare.block")
    part = replace(
        corpus,
        name=name,
        blocks=kept,
        tokens={b.name: corpus.tokens[b.name] for b in kept},
        provenance=replace(
            corpus.provenance,
            notes=(*corpus.provenance.notes, f"the rows of {corpus.name} where {block} is {symbol}"),
        ),
    )
    return part.take(rows)


def halves(corpus: Corpus, name: str, seed: int) -> tuple[Corpus, Corpus]:
    """A corpus that is compared with itself, as two random halves: their divergence is 0 but for chance.

    Each part of a fixed split is halved, and groups stay whole. ``name`` is what the other half is called.
    """
    units = np.arange(corpus.n) if corpus.groups is None else np.unique(corpus.groups, return_inverse=True)[1]
    first = np.zeros(corpus.n, bool)
    rng = numpy_stream("halves", seed)
    for code in [0] if corpus.splits is None else np.unique(corpus.splits):
        rows = np.arange(corpus.n) if corpus.splits is None else np.flatnonzero(corpus.splits == code)
        of_part = rng.permutation(np.unique(units[rows]))
        first[rows] = np.isin(units[rows], of_part[: len(of_part) // 2])
    note = f"{corpus.name} and {name} are the same rows: two random halves of them are compared"
    provenance = replace(corpus.provenance, notes=(*corpus.provenance.notes, note))
    noted = replace(corpus, provenance=provenance)
    return noted.take(first), replace(noted.take(~first), name=name)


def mixture(
    p: Corpus, q: Corpus, block: str, symbols: tuple[str, str], name: str, *, shared_groups: bool = False
) -> Corpus:
    """Both corpora as one, with a block that says which, each weighing half: also in each part of a fixed split.

    ``shared_groups`` says that a group of p and one of q with the same code are the same.
    """
    _check_same_blocks(p, q, block)
    labels = np.repeat([0, 1], [p.n, q.n])
    ids = None
    if p.sequence_ids is not None and q.sequence_ids is not None:
        ids = pa.concat_arrays([p.sequence_ids, q.sequence_ids])
    splits = _splits(p, q)
    weights, kind = _even_weights(p, q, labels, splits)
    return Corpus(
        name=name,
        blocks=(*p.blocks, Block(block, Vocabulary(symbols), 1)),
        tokens={
            **{b.name: np.concatenate([p.tokens[b.name], q.tokens[b.name]]) for b in p.blocks},
            block: labels[:, None],
        },
        weights=weights,
        weight_kind=kind,
        groups=_groups(p, q, shared_groups),
        splits=splits,
        sequence_ids=ids,
        provenance=_provenance(p, q, block, rescaled=kind == "weight"),
    )


def _compare_of(study: Study) -> Compare:
    if study.compare is None:
        raise InputError(
            "the study compares nothing", where=f"study {study.name}", remedy="give it a [compare] section"
        )
    return study.compare


def _of_points(study: Study, compare: Compare) -> Sides:
    points = grid_points(study)
    if len(points) != 2:
        raise InputError(
            f"the grid has {len(points)} points, a comparison takes two",
            where=f"in study {study.name}",
            remedy="give one option two values, as in --set grid.temperature=[2.5,3.0]",
        )
    p, q = (steps.read(point.source, point.corpus_name) for point in points)
    if p.corpus_id == q.corpus_id:
        p, q = halves(p, q.name, study.seed)
    labels = [point_label({name: point.source.options[name] for name in study.grid}) for point in points]
    symbols = (labels[0], labels[1]) if labels[0] != labels[1] else NAMES
    return Sides(p, q, mixture(p, q, compare.block, symbols, study.corpus_name))


def _labelled(paths: Sequence[str]) -> tuple[str, ...]:
    """Two files without labels are called after their names, or p and q where these are alike."""
    plain = [path for path in paths if Path(path).exists() or path.startswith("package:")]
    if len(paths) != 2 or len(plain) != 2:
        return tuple(paths)
    stems = [re.sub(r"[^\w.-]+", "-", Path(path).name.split(".")[0]) for path in paths]
    if stems[0] == stems[1] or not all(re.match("[A-Za-z_]", stem) for stem in stems):
        stems = list(NAMES)
    return tuple(f"{stem}={path}" for stem, path in zip(stems, paths, strict=True))


def _check_same_blocks(p: Corpus, q: Corpus, block: str) -> None:
    if p.blocks != q.blocks:
        shown = [", ".join(f"{b.name} ({b.length} x {b.vocabulary.size})" for b in c.blocks) for c in (p, q)]
        raise InputError(
            f"the two corpora have different blocks: {shown[0]} and {shown[1]}",
            where=f"in {p.name!r} and {q.name!r}",
            remedy="give both the same lengths and symbols",
        )
    if block in [b.name for b in p.blocks]:
        raise InputError(f"both corpora have a block {block!r} already", remedy="name another as compare.block")


def _splits(p: Corpus, q: Corpus) -> np.ndarray | None:
    if p.splits is None and q.splits is None:
        return None
    if p.splits is None or q.splits is None:
        raise InputError(
            "one corpus fixes its split and the other does not",
            where=f"{p.name!r} and {q.name!r}",
            remedy="give both a column of splits, or none",
        )
    return np.concatenate([p.splits, q.splits])


def _groups(p: Corpus, q: Corpus, shared: bool) -> np.ndarray | None:
    if p.groups is None and q.groups is None:
        return None
    of_p = np.arange(p.n) if p.groups is None else p.groups
    of_q = np.arange(q.n) if q.groups is None else q.groups
    if not shared:
        of_p, of_q = (np.unique(codes, return_inverse=True)[1] for codes in (of_p, of_q))
        of_q = of_q + of_p.max() + 1
    return np.concatenate([of_p, of_q])


def _even_weights(
    p: Corpus, q: Corpus, labels: np.ndarray, splits: np.ndarray | None
) -> tuple[np.ndarray | None, Literal["count", "weight"]]:
    """Weights under which each corpus counts for half, and their kind; None and counts stay where they do already."""
    own = np.concatenate([np.ones(c.n) if c.weights is None else np.asarray(c.weights) for c in (p, q)])
    weights = own.copy()
    for code in [0] if splits is None else np.unique(splits):
        rows = np.full(len(own), True) if splits is None else splits == code
        totals = np.bincount(labels[rows], own[rows], 2)
        if not totals.all():
            part = "" if splits is None else f" in {SPLITS[code]}"
            raise InputError(
                f"{(p, q)[int(np.argmin(totals))].name!r} has no rows{part}",
                where="in the comparison",
                remedy="give both corpora rows in every part of the split",
            )
        weights[rows] *= (totals.mean() / totals)[labels[rows]]
    if not np.allclose(weights, own, rtol=1e-12):
        return weights, "weight"
    if p.weights is None and q.weights is None:
        return None, "count"
    counted = all(c.weights is None or c.weight_kind == "count" for c in (p, q))
    return own, "count" if counted else "weight"


def _provenance(p: Corpus, q: Corpus, block: str, *, rescaled: bool) -> Provenance:
    even = "weighed so that each counts for half" if rescaled else "each counts for half"
    uris = dict.fromkeys(c.provenance.source_uri for c in (p, q))
    hashes = dict.fromkeys(c.provenance.source_sha256 for c in (p, q))
    return Provenance(
        connector=p.provenance.connector,
        source_uri=" and ".join(uris),
        source_sha256=hashes.popitem()[0] if len(hashes) == 1 else "",
        options={**p.provenance.options, "compare.block": block},
        n_read=p.n + q.n,
        notes=(f"{p.n:,} rows of {p.name} and {q.n:,} of {q.name}, told apart by {block}; {even}",),
    )
