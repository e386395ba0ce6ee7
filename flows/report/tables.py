"""The tables of a page, as plain rows of text; every one names the SQL that reproduces it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from flows.report.comparison import comparison_tables
from flows.report.context import Context, Profile
from flows.report.counts import commonest, has_letters
from flows.report.curves import curve_tables
from flows.report.footprint import place
from flows.report.motifs import motif_table
from flows.report.rows import Quantity, Query, checks_query, estimates_query, pointwise_query
from flows.report.table import Column, Table
from flows.report.words import bits, digits, formula, number, of_which
from infosedd.blocks import Vocabulary
from infosedd.plotting.axes import label
from infosedd.plotting.estimate import ESTIMATOR_NAMES

TOP_WINDOWS = 12
EXTREME_SEQUENCES = 8
TEXT_LIMIT = 90


def tables(context: Context) -> list[Table]:
    """What this run has to show in rows; the checks come last."""
    profiles = [profile for profile in context.profiles if profile.mode == "keep"]
    of_parts = [*curve_tables(context), *comparison_tables(context), motif_table(context)]
    of_windows = [_windows(context, profile) for profile in profiles]
    wanted = [*of_parts, *of_windows, _estimates(context), _extremes(context), _checks(context)]
    found = [table for table in wanted if table is not None]
    slugs = [table.slug for table in found]
    return [replace(t, slug=f"{t.slug}-{i}") if slugs.index(t.slug) < i else t for i, t in enumerate(found)]


def _windows(context: Context, profile: Profile) -> Table:
    """The highest windows, overlapping ones too."""
    windows = context.windows(profile)
    corpus = context.corpora.get(profile.corpus_id)
    block = corpus.block(profile.block) if corpus else None
    letters = commonest(corpus, block)[0] if corpus and block and has_letters(block) else None
    sites = context.sites(profile.block)
    band = windows.half_width(simultaneous=True)
    entropy = profile.estimates[0].diagnostics.get("entropy_y_nats")
    rows = []
    for i in np.argsort(-windows.nats, kind="stable")[:TOP_WINDOWS]:
        start, stop, value = int(windows.starts[i]), int(windows.stops[i]), float(windows.nats[i])
        touched = [s.name for s in sites if s.start < stop and start < s.stop]
        rows.append(
            (
                place(context, start, stop),
                *(["".join(letters[start:stop])] if letters else []),
                *([", ".join(touched) or "–"] if sites else []),
                f"{number(value, 4)} ± {number(float(windows.std_error[i]), 4)}",
                f"{number(value - float(band[i]), 4)} to {number(value + float(band[i]), 4)}",
                number(bits(value), 4),
                *([f"{number(100 * value / entropy, 1)} %"] if entropy else []),
                f"{profile.block}[{start}:{stop}]",
            )
        )
    columns = (
        Column("positions"),
        *([Column("letters", code=True)] if letters else []),
        *([Column("site")] if sites else []),
        Column("nats", numeric=True),
        Column("95 %, all windows", numeric=True),
        Column("bits", numeric=True),
        *([Column(f"of H({profile.y})", numeric=True)] if entropy else []),
        Column("window", code=True),
    )
    note = f"The {len(rows)} highest of {len(windows)} windows of {profile.width}; neighbours overlap."
    title = f"Top windows of {profile.block} for {profile.y}{context.in_corpus(profile.corpus_id)}"
    return Table(f"windows-{profile.block}-{profile.width}", title, note, columns, tuple(rows), _query(context, "keep"))


def _estimates(context: Context) -> Table | None:
    """Every whole quantity by every estimator, with ln n, above which counts say nothing."""
    if not context.rows.whole:
        return None
    several = context.several_corpora
    known = any(quantity.truth is not None for quantity in context.rows.whole)
    rows = [row for quantity in context.rows.whole for row in _estimate_rows(context, quantity, several, known)]
    columns = (
        Column("quantity", wraps=True),
        *([Column("corpus")] if several else []),
        Column("estimator"),
        Column("nats", numeric=True),
        Column("95 % interval", numeric=True),
        Column("bits", numeric=True),
        *([Column("exact, nats", numeric=True)] if known else []),
        Column("n", numeric=True),
        Column("ln n", numeric=True),
    )
    reused = sum(q.reused for q in context.rows.whole)
    told = f" {reused} of {len(context.rows.whole)} were stored before and used again." if reused else ""
    note = f"A count near ln n, or near the entropy of one side, is saturated: it says nothing about dependence.{told}"
    return Table("estimates", "All estimates", note, columns, tuple(rows), _query(context, "whole"))


def _estimate_rows(context: Context, quantity: Quantity, several: bool, known: bool) -> list[tuple[str, ...]]:
    main = quantity.estimate
    name = formula(main)
    corpus = of_which(context.rows.corpora, quantity.corpus_id, quantity.reference_corpus_id)
    decimals = max(digits(main.std_error, main.nats), 3)
    rows = []
    for i, e in enumerate((main, *main.others)):
        ceiling = e.diagnostics.get("ln_n", float(np.log(e.n_samples)))
        rows.append(
            (
                name if i == 0 else "",
                *([corpus if i == 0 else ""] if several else []),
                ESTIMATOR_NAMES.get(e.estimator, e.estimator),
                f"{number(e.nats, decimals)} ± {number(e.std_error, decimals)}",
                f"{number(e.ci_low, decimals)} to {number(e.ci_high, decimals)}",
                number(e.bits, decimals),
                *([number(quantity.truth, decimals) if i == 0 else ""] if known else []),
                f"{e.n_samples:,}",
                number(ceiling, 2),
            )
        )
    return rows


def _extremes(context: Context) -> Table | None:
    """The sequences that the headline's value is highest and lowest for."""
    if context.main is None:
        return None
    query = pointwise_query(context.main.estimate_id)
    found = query.run(context.home)
    if found.height < 2 * EXTREME_SEQUENCES:
        return None
    shown = pl.concat([found.head(EXTREME_SEQUENCES), found.tail(EXTREME_SEQUENCES)])
    texts = _texts(context, shown["sequence_index"].to_list())
    rows = tuple(
        (str(row["sequence_index"]), _cut(row["sequence_id"] or "–"), *text, number(row["value_nats"], 3))
        for row, text in zip(shown.iter_rows(named=True), texts, strict=True)
    )
    names = [column for column in (context.main.estimate.x, context.main.estimate.y) if column]
    columns = (
        Column("row", numeric=True),
        Column("sequence id", wraps=True),
        *(Column(name, code=True) for name in names if texts and texts[0]),
        Column("nats", numeric=True),
    )
    note = f"The {EXTREME_SEQUENCES} highest and the {EXTREME_SEQUENCES} lowest of {found.height:,} evaluated rows."
    return Table("sequences", "Sequences that say most and least", note, columns, rows, query)


def _checks(context: Context) -> Table | None:
    """Consistency checks of this run, failed ones first."""
    if not context.rows.checks:
        return None
    numbers = ("observed_nats", "expected_nats", "tolerance_nats")
    rows = tuple(
        (
            label(c["name"]),
            label(c["claim"], 160),
            "held" if c["passed"] else "FAILED",
            *(number(c[n], 4) for n in numbers),
        )
        for c in context.rows.checks
    )
    columns = (
        Column("check"),
        Column("what should hold", wraps=True),
        Column("outcome"),
        Column("seen, nats", numeric=True),
        Column("expected, nats", numeric=True),
        Column("may differ by, nats", numeric=True),
    )
    failed = sum(not c["passed"] for c in context.rows.checks)
    note = f"{failed} of {len(rows)} failed." if failed else f"All {len(rows)} held."
    return Table("checks", "Consistency checks", note, columns, rows, checks_query(context.run_id))


def _texts(context: Context, indices: Sequence[int]) -> list[tuple[str, ...]]:
    """The tokens of x and y of each row as text; empty where the corpus is not at hand."""
    corpus = context.corpora.get(context.main.corpus_id) if context.main else None
    if corpus is None or context.main is None:
        return [()] * len(indices)
    names = [name for name in (context.main.estimate.x, context.main.estimate.y) if name]
    columns = []
    for expression in names:
        pieces = []
        for name, positions in corpus.select(expression).parts:
            codes = corpus.tokens[name][list(indices)][:, list(positions)]
            pieces.append([_spelled(corpus.block(name).vocabulary, row) for row in codes])
        columns.append([_cut(" ".join(parts)) for parts in zip(*pieces, strict=True)])
    return list(zip(*columns, strict=True))


def _spelled(vocabulary: Vocabulary, codes: np.ndarray) -> str:
    """One row as text: words are parted by blanks, letters are not; pads are left out, hidden tokens are ``?``."""
    symbols = [*vocabulary.symbols, "?"]
    shown = [symbols[code] for code in codes if symbols[code] != vocabulary.pad]
    return ("" if all(len(symbol) == 1 for symbol in vocabulary.symbols) else " ").join(shown)


def _query(context: Context, mode: str) -> Query:
    return estimates_query(context.run_id, mode)


def _cut(text: str) -> str:
    return label(text, TEXT_LIMIT)
