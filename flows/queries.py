"""What a study's model is trained to answer, where its configuration doesn't say: the study's own questions."""

from collections.abc import Iterable, Mapping

from flows.study import MeasureSpec, Study
from infosedd.blocks import Selection
from infosedd.corpus import Corpus

Query = Mapping[str, object]


def training_queries(study: Study, corpus: Corpus) -> tuple[Query, ...]:
    """The queries that the study names, or those of its measures; each once."""
    given = study.model.get("queries")
    if given:
        return tuple(given)
    return tuple({repr(q): q for spec in study.measures for q in _queries_of(spec, corpus, study.model)}.values())


def asking(study: Study, questions: Iterable[MeasureSpec], corpus: Corpus) -> Study:
    """The study, whose model is also trained for ``questions`` where it is not trained for them yet."""
    known = training_queries(study, corpus)
    new = [
        q
        for spec in questions
        for q in _queries_of(spec, corpus, study.model)
        if not any(_covers(k, q, corpus) for k in known)
    ]
    if not new:
        return study
    return study.model_copy(update={"model": {**study.model, "queries": [*known, *new]}})


def _covers(known: Query, asked: Query, corpus: Corpus) -> bool:
    """Has a network that was trained on ``known`` met just what ``asked`` noises and shows?

    Noising more than is asked is not enough: coarse to fine, other tokens are then visible.
    """
    same = {
        part: _tokens(known.get(part, ""), corpus) == _tokens(asked.get(part, ""), corpus)
        for part in ("noised", "clean", "given")
    }
    if not (same["noised"] and same["given"]):
        return False
    if same["clean"] and all(known.get(k, d) == asked.get(k, d) for k, d in (("show", "all"), ("window", 1))):
        return True
    return _is_window(asked, known, corpus)


def _is_window(asked: Query, known: Query, corpus: Corpus) -> bool:
    """Is what ``asked`` shows one of the windows that ``known`` was trained on?"""
    if known.get("show") != "window" or asked.get("show", "all") != "all":
        return False
    window, whole = (sorted(_tokens(q["clean"], corpus)) for q in (asked, known))
    starts = range(len(whole) - len(window) + 1)
    return len(window) == known["window"] and any(whole[i : i + len(window)] == window for i in starts)


def _tokens(expression: object, corpus: Corpus) -> set[tuple[str, int]]:
    chosen = corpus.select(str(expression)) if expression else None
    return {(name, i) for name, positions in chosen.parts for i in positions} if chosen else set()


def _queries_of(spec: MeasureSpec, corpus: Corpus, model: Mapping[str, object]) -> Iterable[Query]:
    x, z = corpus.select(spec.x), spec.z
    if not spec.y:
        yield {"noised": x.text, "clean": z}
        return
    y = corpus.select(spec.y)
    if model.get("variant") == "joint":
        yield from ({"noised": noised, "clean": z} for noised in (f"{x.text}+{y.text}", x.text, y.text))
        return
    if spec.mode == "whole":
        noised, clean = (x, y) if _noises_x(x, y) else (y, x)
        yield {"noised": noised.text, "clean": "+".join(filter(None, [clean.text, z]))}
    else:  # windows are shown, so that one query trains them all
        noised = y
        shown, show = (x, "window") if spec.mode == "keep" else (_around(x, y, z, corpus), "all_but_window")
        given = {"given": z} if z else {}
        weight = {"weight": _weight(spec, x, corpus)} if spec.mode == "keep" and _is_small(corpus) else {}
        yield {"noised": y.text, "clean": shown.text, "show": show, "window": spec.window, **given, **weight}
    if z or noised.size > 1 or model.get("process") == "uniform":  # else the marginal law, which is counted
        yield {"noised": noised.text, "clean": z}


def _is_small(corpus: Corpus) -> bool:
    from infosedd.networks import FEW_ROWS

    return corpus.n_draws < FEW_ROWS


def _weight(spec: MeasureSpec, x: Selection, corpus: Corpus) -> float:
    """The share of training that a profile's windows have beside a whole sequence: the root of their number.

    From few rows a network learns a whole sequence by heart long before it has seen each window often
    enough; what it learns in windows holds in the whole, and not the other way round.
    """
    return round(((x.size - spec.window) // spec.step + 1) ** 0.5, 2)


def _around(x: Selection, y: Selection, z: str, corpus: Corpus) -> Selection:
    """All positions of the blocks of x but those of y and z: what the engine shows when it removes a window of x."""
    taken = _tokens(y.text, corpus) | _tokens(z, corpus)
    blocks = {name: range(corpus.block(name).length) for name, _ in x.parts}
    rest = {name: [i for i in positions if (name, i) not in taken] for name, positions in blocks.items()}
    return Selection.of(rest, corpus.blocks)


def _noises_x(x: Selection, y: Selection) -> bool:
    """The engine noises the side with fewer tokens, y where they are equal."""
    return x.size < y.size
