"""The words at the end of a page: warnings, checks, method, and where everything came from."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import Any

from flows.report.context import Context
from flows.report.words import formula, listed, number
from infosedd.corpus import Corpus
from infosedd.plotting.axes import label

Fact = tuple[str, str]
"""A name and its value, as text."""

SHOWN_QUANTITIES = 4
CHECK_NAMES = {
    "dynkin_gap": "loss difference less Dynkin",
    "dynkin_gap_std_error": "standard error of that gap",
    "train_held_out_gap": "training rows less held-out rows",
    "still_falling_share": "share of all learned in the last tenth of training",
    "duplicate_share": "share of evaluated rows that training saw too",
    "hidden_target_share": "share of target tokens that are unknown",
    "n_effective": "effective sample size",
    "n_rows": "rows evaluated",
    "ln_n": "ln n",
    "entropy_x": "entropy of x, counted",
    "entropy_y": "entropy of y, counted",
    "share_of_entropy_x": "share of the entropy of x",
    "share_of_entropy_y": "share of the entropy of y",
}
"""What the diagnostics of an estimate are called on the page."""


@dataclass(frozen=True)
class Facts:
    """A heading with facts; ``long`` are texts too long for a line, such as a configuration."""

    title: str
    facts: tuple[Fact, ...]
    long: tuple[Fact, ...] = ()


def warnings(context: Context) -> list[str]:
    """Each kind of warning once, with the quantities it belongs to; then what is missing from the page."""
    kinds: dict[str, list[tuple[str, str]]] = {}
    for quantity in sorted(context.rows.quantities, key=lambda q: q.estimate.mode != "whole"):
        for text in quantity.estimate.warnings:
            kind = re.sub(r"[\d.,e+-]*\d", "#", text)
            kinds.setdefault(kind, []).append((formula(quantity.estimate), text.strip()))
    said = [_warning(members) for members in kinds.values()]
    if context.rows.run.get("status") not in (None, "completed"):
        error = context.rows.run.get("error")
        said.insert(0, f"The run did not complete: {context.rows.run['status']}{f', {error}' if error else ''}.")
    failed = [check["name"] for check in context.rows.checks if not check["passed"]]
    if failed:
        said.append(f"Consistency checks that failed: {listed(failed)}.")
    return [*said, *context.missing]


def _warning(members: list[tuple[str, str]]) -> str:
    """The quantities and their warning; where only its numbers differ, the first one speaks for all."""
    names, texts = [name for name, _ in members], list(dict.fromkeys(text for _, text in members))
    others = f" (so the first; {len(texts) - 1} more have other numbers)" if len(texts) > 1 else ""
    return f"{_some(names)}: {texts[0]}{others}"


def checks(context: Context) -> list[Fact]:
    """The diagnostics of the headline, nats where the name says so."""
    if context.main is None:
        return []
    known = sorted(context.main.estimate.diagnostics.items())
    return [(_spoken(name), _amount(name, value)) for name, value in known if isfinite(value)]


def _amount(name: str, value: float) -> str:
    whole = value == int(value) and not name.endswith("_nats")
    return number(value, 0 if whole else 4)


def provenance(context: Context) -> list[Facts]:
    return [
        *(_of_corpus(row, context.corpora.get(key)) for key, row in context.rows.corpora.items()),
        *(_of_model(row) for row in context.rows.models.values()),
        _of_run(context),
    ]


def processes(context: Context) -> set[str]:
    """Noise processes of the models that the run used."""
    return {str(row.get("process")) for row in context.rows.models.values()}


def measures(context: Context) -> set[str]:
    return {q.estimate.measure for q in context.rows.quantities}


def fixed_split(context: Context) -> bool:
    """Whether the source itself says which rows train and which are held out."""
    return any(corpus.splits is not None for corpus in context.corpora.values())


def _of_corpus(row: Mapping[str, Any], corpus: Corpus | None) -> Facts:
    facts = [
        ("id", row["corpus_id"]),
        ("source", row.get("source_uri")),
        ("sha256 of the source", row.get("source_sha256")),
        ("connector", row.get("connector")),
        ("rows", _count(row.get("n_sequences"))),
        ("left out", _left_out(row, corpus)),
        ("blocks", _blocks(row, corpus)),
    ]
    long: list[Fact] = []
    if corpus is not None:
        if corpus.weights is not None:
            facts.append(("draws", f"{corpus.n_draws:,}"))
        if corpus.provenance.hidden:
            facts.append(("hidden tokens", _reasons(corpus.provenance.hidden)))
        facts.extend(("note", note) for note in corpus.provenance.notes)
        if corpus.provenance.options:
            long.append(("options of the connector", _json(corpus.provenance.options)))
    return Facts(f"Corpus {row['name']}", _present(facts), tuple(long))


def _of_model(row: Mapping[str, Any]) -> Facts:
    seconds, loss = row.get("train_seconds"), row.get("held_out_loss_nats")
    facts = [
        ("id", row["model_id"]),
        ("process", row.get("process")),
        ("network", row.get("network")),
        ("parameters", _count(row.get("n_parameters"))),
        ("training", f"{_count(row.get('train_steps'))} steps" + (f" in {number(seconds, 1)} s" if seconds else "")),
        ("held-out loss", f"{number(loss, 4)} nats" if loss is not None else None),
        ("sha256 of the weights", row.get("weights_sha256")),
        ("parent model", row.get("parent_model_id")),
        ("corpus", row.get("corpus_id")),
    ]
    config = row.get("config")
    return Facts("Score model", _present(facts), (("configuration", _json(config)),) if config else ())


def _of_run(context: Context) -> Facts:
    run = context.rows.run
    versions = run.get("versions") or {}
    facts = [
        ("id", run["run_id"]),
        ("study", run.get("study")),
        ("status", run.get("status")),
        ("started", _time(run.get("started_at"))),
        ("finished", _time(run.get("finished_at"))),
        ("Prefect flow run", run.get("flow_run_id")),
        ("versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
    ]
    return Facts("Run", _present(facts))


def _present(facts: list[tuple[str, Any]]) -> tuple[Fact, ...]:
    return tuple((name, str(value)) for name, value in facts if value not in (None, ""))


def _left_out(row: Mapping[str, Any], corpus: Corpus | None) -> str:
    if corpus is not None and corpus.provenance.dropped:
        return _reasons(corpus.provenance.dropped)
    return _count(row.get("n_dropped")) if row.get("n_dropped") else "nothing"


def _reasons(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} ({reason})" for reason, count in counts.items())


def _blocks(row: Mapping[str, Any], corpus: Corpus | None) -> str:
    if corpus is None:
        return "; ".join(
            f"{b['name']}: {b['length']:,} tokens over {b['vocabulary_size']:,} symbols" for b in row["blocks"]
        )
    words = []
    for block in corpus.blocks:
        shape = " × ".join(map(str, block.lattice)) if block.lattice else f"{block.length:,}"
        tokens = "1 token" if block.length == 1 else f"{shape} tokens"
        words.append(f"{block.name}: {tokens} over {block.vocabulary.size:,} symbols")
    return "; ".join(words)


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, default=str, ensure_ascii=False)


def _count(value: Any) -> str:
    return f"{int(value):,}" if value is not None else ""


def _time(value: Any) -> str:
    return value.strftime("%Y-%m-%d %H:%M:%S UTC") if isinstance(value, datetime) else str(value or "")


def _spoken(name: str) -> str:
    """A diagnostic's name in words, with its unit."""
    if name.startswith("prior_y "):
        return f"rows whose y is {label(name.removeprefix('prior_y '))}, share"
    words = CHECK_NAMES.get(name.removesuffix("_nats"), name.removesuffix("_nats").replace("_", " "))
    return f"{words}, nats" if name.endswith("_nats") else words


def _some(names: list[str]) -> str:
    unique = list(dict.fromkeys(names))
    more = [f"{len(unique) - SHOWN_QUANTITIES} more"] if len(unique) > SHOWN_QUANTITIES else []
    return listed([*unique[:SHOWN_QUANTITIES], *more])
