"""What a person, or a program, reads on stdout."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from math import log
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from flows.home import Home
from flows.steps import Answer
from flows.study import Site
from infosedd.corpus import Corpus
from infosedd.progress import duration
from infosedd.results import Estimate

if TYPE_CHECKING:
    import polars as pl

    from flows.pipeline import Outcome, Part

N_TOP_WINDOWS = 6
N_SYMBOLS = 8
WIDTH_OF_PIPE = 200


def console() -> Console:
    """Stdout; as wide as the terminal, or wide enough where it is a pipe or a file."""
    shown = Console(highlight=False, soft_wrap=False)
    return shown if shown.is_terminal else Console(highlight=False, width=WIDTH_OF_PIPE)


def show_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows of texts; columns whose every cell is a number stand to the right."""
    table = Table(header_style="bold")
    for i, name in enumerate(columns):
        numeric = bool(rows) and all(_is_number(row[i]) for row in rows)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(cell.replace("[", "\\[") for cell in row))
    console().print(table)


def show_rows(rows: "pl.DataFrame") -> None:
    """Print the rows of a query."""
    show_table(rows.columns, [[_cell(value) for value in row] for row in rows.iter_rows()])
    print(f"{rows.height} row{'' if rows.height == 1 else 's'}")


def show_outcome(outcome: "Outcome", home: Home, study: str) -> None:
    """Print what a run found, how far to trust it, and what to try next."""
    show_answers(outcome)
    print(f"report: {outcome.report}")
    _show_next(outcome, home, study)


def show_answers(outcome: "Outcome") -> None:
    """Print the data, the estimates with their checks, and the model."""
    for part in outcome.parts:
        _show_data(part.corpus)
    whole = [(part, answer) for part in outcome.parts for answer in part.answers if answer.spec.mode == "whole"]
    if whole:
        several = len(outcome.parts) > 1
        columns = ["measure", "nats", "std error", "95 % interval", "bits", "n", "dynkin", "plug-in", "ceiling ln n"]
        print(outcome.study.title or outcome.study.name)
        rows = [[*([_told_apart(part, answer)] if several else []), *_estimate_row(answer)] for part, answer in whole]
        show_table([*(["corpus"] if several else []), *columns, "per position", "seconds"], rows)
        for text in dict.fromkeys(filter(None, (_label_facts(answer) for _, answer in whole))):
            print(text)
    for part in outcome.parts:
        for answer in part.answers:
            if answer.spec.mode != "whole":
                _show_profile(answer, part.corpus, outcome.study.sites)
    for warning in _warnings(outcome.answers):
        print(f"warning: {warning}")
    _show_model(outcome)


def show_model_card(outcome: "Outcome", home: Home) -> None:
    """Print what was trained, or found."""
    from infosedd.card import load_card

    for part in outcome.parts:
        _show_data(part.corpus)
        card = load_card(home.models / part.model.model_id)
        print(f"network {card.network}: {card.n_parameters:,} parameters, {card.train_steps:,} steps")
        print(f"held-out loss {card.held_out_loss_nats:.4f} nats a sequence")
    _show_model(outcome)


def show_corpus(corpus: Corpus) -> None:
    """Print what was read, what was left out, and what each block is made of."""
    from flows.summary import block_summaries, row_facts

    _show_data(corpus)
    for fact in row_facts(corpus):
        print(fact)
    rows = [
        [
            block.name,
            str(block.length),
            block.lengths,
            str(block.n_symbols),
            f"{block.hidden_share:.2%}",
            ", ".join(f"{symbol} {share:.1%}" for symbol, share in block.commonest(N_SYMBOLS)),
        ]
        for block in block_summaries(corpus)
    ]
    show_table(["block", "positions", "lengths", "symbols", "hidden", "commonest symbols"], rows)


def corpus_as_json(corpus: Corpus) -> str:
    """What was read, as one JSON object."""
    from flows.summary import N_IN_JSON, block_summaries, n_repeated

    source = corpus.provenance
    blocks = [
        {
            "name": b.name, "length": b.length, "symbols": b.n_symbols, "lengths": b.lengths,
            "hidden_share": b.hidden_share, "composition": dict(b.commonest(N_IN_JSON)),
        }
        for b in block_summaries(corpus)
    ]  # fmt: skip
    content = {
        **_corpus_json(corpus), "blocks": blocks, "connector": source.connector, "source": source.source_uri,
        "source_sha256": source.source_sha256, "n_read": source.n_read, "dropped": dict(source.dropped),
        "hidden": dict(source.hidden), "n_repeated_rows": n_repeated(corpus), "notes": list(source.notes),
    }  # fmt: skip
    return json.dumps(content, indent=1)


def as_json_text(outcome: "Outcome") -> str:
    """The outcome as one JSON object; numbers are nats unless their name says bits."""
    answers = [
        {
            "corpus_id": part.corpus.corpus_id,
            "model_id": part.model.model_id,
            **({"against": answer.against} if answer.against else {}),
            "reused": answer.reused,
            "seconds": round(answer.seconds, 3),
            **_estimate_json(estimate),
        }
        for part in outcome.parts
        for answer in part.answers
        for estimate in answer.estimates
    ]
    content = {
        "run_id": outcome.run_id,
        "study": outcome.study.name,
        "seed": outcome.study.seed,
        "corpus": _corpus_json(outcome.corpus),
        "model": asdict(outcome.model),
        "parts": [{"corpus": _corpus_json(p.corpus), "model": asdict(p.model)} for p in outcome.parts],
        "estimates": answers,
        "report": str(outcome.report) if outcome.report else None,
        "seconds": round(outcome.seconds, 3),
    }
    return json.dumps(content, indent=1)


def _corpus_json(corpus: Corpus) -> dict[str, object]:
    return {"corpus_id": corpus.corpus_id, "name": corpus.name, "n_rows": corpus.n, "n_draws": corpus.n_draws}


def _show_data(corpus: Corpus) -> None:
    blocks = ", ".join(f"{b.name} ({b.length} x {b.vocabulary.size} symbols)" for b in corpus.blocks)
    draws = f", {corpus.n_draws:,} draws" if corpus.n_draws != corpus.n else ""
    print(f"corpus {corpus.corpus_id} {corpus.name}: {corpus.n:,} rows{draws}; {blocks}")
    for reason, count in corpus.provenance.dropped.items():
        print(f"dropped: {count:,} for {reason}")
    for reason, count in corpus.provenance.hidden.items():
        print(f"hidden tokens: {count:,} for {reason}")
    for note in corpus.provenance.notes:
        print(f"note: {note}")


def _told_apart(part: "Part", answer: Answer) -> str:
    return f"{part.corpus.name} against {answer.against}" if answer.against else part.corpus.name


def _show_model(outcome: "Outcome") -> None:
    models = {part.model.model_id: part.model for part in outcome.parts}
    seconds = sum(model.seconds for model in models.values() if not model.reused)
    old = sum(model.reused for model in models.values())
    how = "reused" if old == len(models) else f"trained in {duration(seconds)}"
    how += f", {old} of them reused" if 0 < old < len(models) else ""
    reused = sum(answer.reused for answer in outcome.answers)
    stored = f"; {reused} of {len(outcome.answers)} measures were in the warehouse already" if reused else ""
    name = f"model {outcome.model.model_id}" if len(models) == 1 else f"{len(models)} models"
    print(f"{name}: {how}{stored}; {duration(outcome.seconds)} in all")


def _show_next(outcome: "Outcome", home: Home, study: str) -> None:
    option = "" if home == Home.at("infosedd-home") else f" --home {home.path}"
    name = outcome.study.name
    print("next:")
    labels = [match[1] for path in outcome.study.source.path if (match := re.fullmatch(r"([\w.-]+)=.+", path))]
    files = " ".join(f"{label}=YOUR_FILE" for label in labels) or "YOUR_FILE"
    print(f"  infosedd run {study}{option} --source {files}      the same questions of your own data")
    if any(answer.spec.mode != "whole" for answer in outcome.answers):
        view, columns = "information_profile", "mode, window_start, window_stop, value_nats, std_error_nats"
    else:
        view, columns = "latest_estimates", "measure, x, y, z, value_nats, std_error_nats"
    where = f"where study = '{name}' and estimator = 'loss_difference'"
    query = f"select {columns} from {view} {where} order by value_nats desc limit 10"
    print(f'  infosedd sql{option} "{query}"')


def _estimate_row(answer: Answer) -> list[str]:
    e = answer.estimates[0]
    dynkin, plug_in, per_position = (e.other(n) for n in ("dynkin", "plug_in", "per_position_plug_in"))
    return [
        answer.spec.label,
        f"{e.nats:.4f}",
        f"{e.std_error:.4f}",
        f"{e.ci_low:.4f} to {e.ci_high:.4f}",
        f"{e.bits:.4f}",
        f"{e.n_samples:,}",
        _nats(dynkin),
        _nats(plug_in),
        f"{e.diagnostics.get('ln_n', log(e.n_samples)):.4f}",
        _nats(per_position),
        "stored" if answer.reused else f"{answer.seconds:.1f}",
    ]


def _label_facts(answer: Answer) -> str:
    """How common the values of a label are, and what share of its entropy is told; empty for what is no label."""
    found = answer.estimates[0].diagnostics
    shares = [f"{name.removeprefix('prior_y ')} {n:.1%}" for name, n in found.items() if name.startswith("prior_y ")]
    if not shares or "share_of_entropy_y" not in found:
        return ""
    told = f"{answer.spec.label} is {found['share_of_entropy_y']:.1%} of H({answer.spec.y})"
    return f"{told} = {found['entropy_y_nats']:.4f} nats; {answer.spec.y}: {', '.join(shares)}"


def _nats(estimate: Estimate | None) -> str:
    return "-" if estimate is None else f"{estimate.nats:.4f}"


def _show_profile(answer: Answer, corpus: Corpus, sites: Sequence[Site]) -> None:
    spec = answer.spec
    windows = f"each of {len(answer.estimates)} windows of {spec.window}"
    if spec.mode == "keep":
        print(f"{spec.label}: what {windows} carries alone, the highest first")
    else:
        print(f"{spec.label}: what the rest of the block carries without {windows}, the lowest first")
    rows = [
        [e.x, f"{e.nats:.4f}", f"{e.std_error:.4f}", f"{e.bits:.4f}", _nats(e.other("dynkin")), _at(e, corpus, sites)]
        for e in _most_telling(answer)
    ]
    show_table(["window", "nats", "std error", "bits", "dynkin", "known site"], rows)


def _most_telling(answer: Answer) -> list[Estimate]:
    """The windows with most information, or without which least is left; none overlaps one before it."""
    chosen: list[int] = []
    sign = -1 if answer.spec.mode == "keep" else 1
    for i in sorted(range(len(answer.estimates)), key=lambda i: sign * answer.estimates[i].nats):
        if all(abs(i - j) * answer.spec.step >= answer.spec.window for j in chosen):
            chosen.append(i)
        if len(chosen) == N_TOP_WINDOWS:
            break
    return [answer.estimates[i] for i in chosen]


def _at(estimate: Estimate, corpus: Corpus, sites: Sequence[Site]) -> str:
    window = corpus.select(estimate.x)
    return ", ".join(s.name for s in sites if set(window.positions(s.block)) & set(range(s.start, s.stop)))


def _warnings(answers: Sequence[Answer]) -> list[str]:
    """Each warning once, with what it is about; those that differ only in numbers are counted."""
    about: dict[str, list[tuple[str, str]]] = {}
    for answer in answers:
        for estimate in answer.estimates:
            for text in estimate.warnings:
                name = answer.spec.label if answer.spec.mode == "whole" else estimate.x
                about.setdefault(re.sub(r"\d[\d.,e+-]*", "#", text), []).append((name, text))
    return [
        f"{found[0][0]}: {found[0][1]}" + (f" (and {len(found) - 1} more estimates)" if len(found) > 1 else "")
        for found in about.values()
    ]


def _estimate_json(e: Estimate) -> dict[str, Any]:
    main = {
        "measure": e.measure, "mode": e.mode, "x": e.x, "y": e.y, "z": e.z, "estimator": e.estimator,
        "nats": e.nats, "std_error_nats": e.std_error, "ci_low_nats": e.ci_low, "ci_high_nats": e.ci_high,
        "bits": e.bits, "n_samples": e.n_samples, "warnings": list(e.warnings), "diagnostics": dict(e.diagnostics),
    }  # fmt: skip
    return {**main, "others": [_estimate_json(other) for other in e.others]}


def _is_number(text: str) -> bool:
    return text in ("-", "stored", "") or text.replace(",", "").replace(".", "", 1).replace("-", "", 1).isdigit()


def _cell(value: object) -> str:
    from warehouse.queries import text_of

    return f"{value:.6g}" if isinstance(value, float) else text_of(value) or ""
