"""Answers that the warehouse has already: the same study, data, model, seed, question and way of estimating."""

from flows.home import Home
from flows.study import MeasureSpec, Study
from infosedd.blocks import Selection
from infosedd.corpus import Corpus
from infosedd.results import Estimate

Key = tuple[str, str, str, str, str]


def stored_answer(
    study: Study, spec: MeasureSpec, home: Home, corpus: Corpus, model_id: str, reference_model_id: str | None = None
) -> tuple[Estimate, ...] | None:
    """The stored estimates that answer ``spec`` whole, in the order of its windows; None where one is missing."""
    from warehouse import queries

    found = queries.stored_estimates(
        home.path, study.name, corpus.corpus_id, model_id, study.seed, reference_model_id=reference_model_id
    )
    by_key = {(e.measure, e.mode, e.x, e.y, e.z): e for e in found}
    answers = [by_key.get(key) for key in keys_of(spec, corpus)]
    return tuple(e for e in answers if e is not None) if all(answers) else None


def keys_of(spec: MeasureSpec, corpus: Corpus) -> list[Key]:
    """Measure, mode, x, y and z of each estimate that a question asks for, as the engine writes them."""
    x = corpus.select(spec.x)
    y, z = (corpus.select(text).text if text else "" for text in (spec.y, spec.z))
    measure = "conditional_mutual_information" if y and z else spec.measure
    if spec.mode == "whole":
        return [(measure, spec.mode, x.text, y, z)]
    return [(measure, spec.mode, window.text, y, z) for window in windows(x, spec, corpus)]


def windows(x: Selection, spec: MeasureSpec, corpus: Corpus) -> list[Selection]:
    """The windows of ``spec.window`` positions of x, every ``spec.step``."""
    tokens = [(name, position) for name, positions in x.parts for position in positions]
    chosen = []
    for start in range(0, len(tokens) - spec.window + 1, spec.step):
        parts: dict[str, list[int]] = {}
        for name, position in tokens[start : start + spec.window]:
            parts.setdefault(name, []).append(position)
        chosen.append(Selection.of(parts, corpus.blocks))
    return chosen
