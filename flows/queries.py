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
    return tuple({repr(q): q for spec in study.measures for q in _queries_of(spec, corpus)}.values())


def asking(study: Study, questions: Iterable[MeasureSpec], corpus: Corpus) -> Study:
    """The study, whose model is also trained for ``questions`` where it is not trained for them yet."""
    known = training_queries(study, corpus)
    new = [q for spec in questions for q in _queries_of(spec, corpus) if not any(_covers(k, q, corpus) for k in known)]
    if not new:
        return study
    return study.model_copy(update={"model": {**study.model, "queries": [*known, *new]}})


def _covers(known: Query, asked: Query, corpus: Corpus) -> bool:
    """Has a network that was trained on ``known`` seen what ``asked`` noises and shows?"""
    noised, wanted = (_tokens(q["noised"], corpus) for q in (known, asked))
    clean, shown = (_tokens(q.get("clean", ""), corpus) for q in (known, asked))
    if not wanted <= noised:
        return False
    if known.get("show", "all") == "all":
        return shown == clean if asked.get("show", "all") == "all" else False
    return shown <= clean


def _tokens(expression: object, corpus: Corpus) -> set[tuple[str, int]]:
    chosen = corpus.select(str(expression)) if expression else None
    return {(name, i) for name, positions in chosen.parts for i in positions} if chosen else set()


def _queries_of(spec: MeasureSpec, corpus: Corpus) -> Iterable[Query]:
    x, z = corpus.select(spec.x), spec.z
    if not spec.y:
        yield {"noised": x.text, "clean": z}
        return
    y = corpus.select(spec.y)
    noised, clean = (x, y) if _noises_x(x, y) else (y, x)
    if spec.mode == "whole" or noised is x:
        yield {"noised": noised.text, "clean": "+".join(filter(None, [clean.text, z]))}
    else:
        show = "window" if spec.mode == "keep" else "all_but_window"
        yield {"noised": noised.text, "clean": clean.text, "show": show, "window": spec.window}
    if z or noised.size > 1:
        yield {"noised": noised.text, "clean": z}


def _noises_x(x: Selection, y: Selection) -> bool:
    """The engine noises the side with fewer tokens, y where they are equal."""
    return x.size < y.size
