"""Numbers as text, and what the main number means, in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, floor, isfinite, log, log10
from typing import Any

from flows.report.counts import symbol_shares
from infosedd.blocks import Selection
from infosedd.corpus import Corpus
from infosedd.errors import InputError
from infosedd.plotting.axes import label
from infosedd.results import NATS_PER_BIT, Estimate

SYMBOLS = {
    "mutual_information": "I",
    "conditional_mutual_information": "I",
    "entropy": "H",
    "total_correlation": "TC",
    "dual_total_correlation": "DTC",
    "o_information": "Ω",
    "kl_divergence": "KL",
    "jensen_shannon_divergence": "JS",
}
NAMES = {
    "kl_divergence": "Kullback–Leibler divergence",
    "jensen_shannon_divergence": "Jensen–Shannon divergence",
    "o_information": "O-information",
}
MANY_CHOICES = 1000
"""Past so many equally likely values their number tells a reader nothing."""
LABELS_SHOWN = 4
_INFORMATION = ("mutual_information", "conditional_mutual_information")


@dataclass(frozen=True)
class Bar:
    """A share and its interval for a bar, in percent of its length from the left; ``rest`` is from the right."""

    value: float
    low: float
    high: float
    rest: float


@dataclass(frozen=True)
class Headline:
    """The main number of a run: ``share`` is its part (0 to 1) of ``share_of``, where there is one."""

    name: str
    formula: str
    nats: str
    std_error: str
    low: str
    high: str
    bits: str
    share: float | None
    share_of: str
    bar: Bar | None
    sentences: tuple[str, ...]
    labels: str
    n_samples: str
    corpus_name: str


def formula(estimate: Estimate) -> str:
    """``I(x; y | z)`` and its like."""
    given = f" | {estimate.z}" if estimate.z else ""
    inside = f"{estimate.x}; {estimate.y}{given}" if estimate.y else f"{estimate.x}{given}"
    return f"{SYMBOLS.get(estimate.measure, estimate.measure)}({inside})"


def measure_name(measure: str) -> str:
    return NAMES.get(measure, measure.replace("_", " "))


def sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:]


def digits(std_error: float, value: float = 0.0) -> int:
    """Decimals that show two figures of the error, or four figures of a value without one."""
    scale, figures = (std_error, 2) if isfinite(std_error) and std_error > 0 else (abs(value), 4)
    return 3 if scale <= 0 or not isfinite(scale) else min(max(figures - 1 - floor(log10(scale)), 0), 6)


def number(value: float | None, decimals: int = 3) -> str:
    """A number with a true minus sign; a missing one is a dash."""
    if value is None or not isfinite(value):
        return "–"
    text = f"{value:,.{decimals}f}"
    text = text.lstrip("-") if float(text.replace(",", "")) == 0 else text
    return text.replace("-", "\u2212")


def headline(estimate: Estimate, corpus: Corpus | None, *, corpus_name: str = "", reference_name: str = "") -> Headline:
    """The estimate with what a reader of the field takes from it; ``corpus_name`` tells it from others of the run."""
    decimals = digits(estimate.std_error, estimate.nats)
    share, share_of = share_of_whole(estimate, corpus)
    return Headline(
        name=sentence_case(measure_name(estimate.measure)),
        formula=formula(estimate),
        nats=number(estimate.nats, decimals),
        std_error=number(estimate.std_error, decimals),
        low=number(estimate.ci_low, decimals),
        high=number(estimate.ci_high, decimals),
        bits=number(estimate.bits, decimals),
        share=share,
        share_of=share_of,
        bar=_bar(estimate, share),
        sentences=tuple(_meaning(estimate, corpus, reference_name)),
        labels=label_shares(estimate, corpus),
        n_samples=f"{estimate.n_samples:,}",
        corpus_name=corpus_name,
    )


def _bar(estimate: Estimate, share: float | None) -> Bar | None:
    """The share as a bar, where it and its interval lie inside 0 to 1."""
    if not share or not estimate.nats:
        return None
    low, high = (end * share / estimate.nats for end in (estimate.ci_low, estimate.ci_high))
    if not 0 <= low <= high <= 1:
        return None
    return Bar(*(round(100 * part, 2) for part in (share, low, high, 1 - high)))


def share_of_whole(estimate: Estimate, corpus: Corpus | None) -> tuple[float | None, str]:
    """The estimate as a part of what it cannot exceed, and the name of that."""
    if estimate.measure in _INFORMATION and not estimate.z:
        entropy = estimate.diagnostics.get("entropy_y_nats")
        return (estimate.nats / entropy, f"the entropy of {estimate.y}") if entropy else (None, "")
    if estimate.measure == "jensen_shannon_divergence":
        return estimate.nats / log(2), "the most it can be, ln 2"
    ceiling = max_entropy(estimate.x, corpus)
    if estimate.measure == "entropy" and ceiling:
        return estimate.nats / ceiling, "the most it can be"
    return None, ""


def label_shares(estimate: Estimate, corpus: Corpus | None) -> str:
    """How common the values of a label y are, the commonest first; empty where y is no label of one token."""
    selection = _selection(estimate.y, corpus)
    if corpus is None or selection is None or selection.size != 1 or estimate.measure not in _INFORMATION:
        return ""
    block = corpus.block(selection.parts[0][0])
    shares = symbol_shares(corpus, block)
    order = sorted(range(len(shares)), key=lambda code: -shares[code])
    named = [f"{label(block.vocabulary.symbols[code])} {number(100 * shares[code], 1)}\u00a0%" for code in order]
    rest = float(sum(shares[code] for code in order[LABELS_SHOWN:]))
    more = [f"{len(named) - LABELS_SHOWN} others {number(100 * rest, 1)}\u00a0%"] if len(named) > LABELS_SHOWN else []
    return ", ".join([*named[:LABELS_SHOWN], *more])


def max_entropy(expression: str, corpus: Corpus | None) -> float | None:
    """Sum of log N over the positions that an expression names; None where they are not known."""
    selection = _selection(expression, corpus)
    if selection is None or corpus is None:
        return None
    return sum(len(positions) * log(corpus.block(name).vocabulary.size) for name, positions in selection.parts)


def described(expression: str, corpus: Corpus | None) -> str:
    """``the 75 letters of promoter``, ``bin``: what an expression names, for a sentence."""
    selection = _selection(expression, corpus)
    if selection is None or corpus is None or len(selection.parts) != 1:
        return expression
    (name, positions), block = selection.parts[0], corpus.block(selection.parts[0][0])
    if block.length == 1:
        return name
    letters = all(len(symbol) == 1 and symbol.isalpha() for symbol in block.vocabulary.symbols)
    noun = "letters" if letters else "spins" if block.vocabulary.size == 2 and block.lattice else "positions"
    return f"the {len(positions)} {noun} of {name}" if len(positions) == block.length else f"{expression}"


def size_of(expression: str, corpus: Corpus | None) -> int | None:
    selection = _selection(expression, corpus)
    return None if selection is None else selection.size


def _selection(expression: str, corpus: Corpus | None) -> Selection | None:
    """The positions an expression names; None where there is no corpus, or it lacks the block."""
    if corpus is None or not expression:
        return None
    try:
        return corpus.select(expression)
    except InputError:
        return None


def _meaning(e: Estimate, corpus: Corpus | None, reference_name: str) -> list[str]:
    speak = {
        "mutual_information": _of_information,
        "conditional_mutual_information": _of_information,
        "entropy": _of_entropy,
        "total_correlation": _of_dependence,
        "dual_total_correlation": _of_dependence,
        "o_information": _of_synergy,
    }.get(e.measure)
    sentences = speak(e, corpus) if speak else _of_divergence(e, reference_name)
    return [*sentences, *_of_interval(e, corpus)]


def _of_information(e: Estimate, corpus: Corpus | None) -> list[str]:
    x, y = described(e.x, corpus), described(e.y, corpus)
    known = f", once {described(e.z, corpus)} is known" if e.z else ""
    if e.ci_low <= 0 <= e.ci_high:
        return [f"No information was found: the interval holds 0, so {x} may say nothing about {y}{known}."]
    decimals = digits(e.std_error, e.nats)
    amount = f"{number(e.nats, decimals)} nats ({number(e.bits, decimals)} bits)"
    entropy = e.diagnostics.get("entropy_y_nats")
    if not entropy or e.z:
        return [f"Reading {x} tells {amount} about {y}{known}."]
    removed = (
        f"Reading {x} removes {amount} of the {number(entropy, 3)} nats of uncertainty about {y}: "
        f"{number(100 * e.nats / entropy, 0)}\u00a0%."
    )
    if entropy > log(MANY_CHOICES):
        return [removed]
    choices, left = number(exp(entropy), 1), number(exp(max(entropy - e.nats, 0.0)), 1)
    return [
        removed,
        f"Put as choices: unread, {y} is as open as a fair draw among {choices} values; read, among {left}.",
    ]


def _of_entropy(e: Estimate, corpus: Corpus | None) -> list[str]:
    x, size, ceiling = described(e.x, corpus), size_of(e.x, corpus), max_entropy(e.x, corpus)
    known = f" once {described(e.z, corpus)} is known" if e.z else ""
    decimals = digits(e.std_error, e.nats)
    sentences = [
        f"On average {number(e.bits, min(decimals, 2))} bits are needed, and are enough, to write down {x}{known}."
    ]
    if size and size > 1:
        each = e.nats / size
        sentences.append(
            f"That is {number(each, 4)} nats a position, as open as a fair draw among {number(exp(each), 2)} symbols."
        )
    if ceiling:
        sentences.append(
            f"With all symbols equally likely and independent it would be {number(ceiling, min(decimals, 3))} nats, "
            f"so {number(100 * (1 - e.nats / ceiling), 1)}\u00a0% of what could be random is structure."
        )
    return sentences


def _of_dependence(e: Estimate, corpus: Corpus | None) -> list[str]:
    x, amount = described(e.x, corpus), f"{number(e.nats, digits(e.std_error, e.nats))} nats"
    if e.measure == "total_correlation":
        return [f"Taken together, {x} hold {amount} less randomness than taken one by one: so much do they depend."]
    return [f"Of the randomness in {x}, {amount} is shared: each position's part can be told from the others."]


def _of_synergy(e: Estimate, corpus: Corpus | None) -> list[str]:
    x = described(e.x, corpus)
    if e.ci_low <= 0 <= e.ci_high:
        return [f"The interval holds 0: in {x} neither redundancy nor synergy outweighs the other."]
    if e.nats > 0:
        return [f"It is above 0, so in {x} redundancy outweighs synergy: the same facts are told several times."]
    return [f"It is below 0, so in {x} synergy outweighs redundancy: some facts show only in many positions at once."]


def _of_divergence(e: Estimate, reference_name: str) -> list[str]:
    reference = reference_name or "the reference corpus"
    if e.measure == "jensen_shannon_divergence":
        return [
            f"A draw from an even mixture of the two corpora tells {number(e.bits, 3)} bits of the one bit "
            "that says which corpus it came from."
        ]
    if e.measure != "kl_divergence" or not 0 < e.nats < 700:
        return [f"The corpora differ by {number(e.nats, digits(e.std_error, e.nats))} nats a draw."]
    needed = max(1, round(log(20) / e.nats))
    return [
        f"A draw is on average (geometric mean) {exp(e.nats):,.3g} times as likely under its own corpus as under "
        f"{reference}: about {needed:,} draw{'s are' if needed > 1 else ' is'} enough to tell the two apart at 20 to 1."
    ]


def _of_interval(e: Estimate, corpus: Corpus | None) -> list[str]:
    if not (isfinite(e.ci_low) and isfinite(e.ci_high)):
        return ["No interval could be computed."]
    sentences = [
        f"The 95\u00a0% interval is what another sample of {e.n_samples:,} would move it by; "
        "it does not cover what a better model might still find."
    ]
    if e.estimator not in ("loss_difference", "dynkin"):
        return sentences
    held_out = "It was computed on data that the model was not trained on"
    if e.estimator != "loss_difference" or e.measure == "entropy":
        bound = "; what the model has not learned makes it larger, so read it as at most this much"
        return [*sentences, f"{held_out}{bound if e.measure == 'entropy' else ''}."]
    if e.measure in ("mutual_information", "jensen_shannon_divergence") and size_of(e.y, corpus) == 1:
        return [*sentences, f"{held_out}, so overfitting lowers it: read it as at least this much."]
    return [*sentences, f"{held_out}; it is no bound, as a better model may move it either way."]


def of_which(corpora: Mapping[str, Mapping[str, Any]], corpus_id: str, reference_corpus_id: str = "") -> str:
    """The corpus that a quantity is of, and the one that it is compared with."""
    name = str(corpora.get(corpus_id, {}).get("name", corpus_id))
    if not reference_corpus_id:
        return name
    return against(name, str(corpora.get(reference_corpus_id, {}).get("name", reference_corpus_id)))


def against(name: str, other: str) -> str:
    """``human against mouse``: the words with which both names begin, such as the study's, are left out."""
    ours, theirs = name.split(" "), other.split(" ")
    shared = next((i for i, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]), 0)
    return f"{' '.join(ours[shared:])} against {' '.join(theirs[shared:])}"


def listed(items: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else list(items))


def bits(nats: float) -> float:
    return nats / NATS_PER_BIT
