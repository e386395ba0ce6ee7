"""Known answers of what a connector drew, written as the study's own questions name them."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from flows.grid import grid_points
from flows.stored import keys_of
from flows.study import MeasureSpec, Source, Study
from infosedd.blocks import EMPTY, Selection
from infosedd.corpus import Corpus

if TYPE_CHECKING:
    from connectors import Truth as Known
    from warehouse import Truth

_SYMMETRIC = ("mutual_information", "conditional_mutual_information")


def known_answers(
    source: Source, study: str, corpus: Corpus, questions: Sequence[MeasureSpec] = ()
) -> "tuple[Truth, ...]":
    """What is known of a drawn corpus, under the study's name; empty where the source is a file.

    An answer is kept as the connector names it, and as each question does that asks the same: with sides
    exchanged, in another order of blocks, or of a window alone, which is the information of that window.
    """
    import connectors

    if source.connector is None:
        return ()
    return _rows(connectors.truths(source.connector, source.options), study, corpus, questions)


def known_of_sides(study: Study, p: Corpus, q: Corpus) -> "tuple[Truth, ...]":
    """What is known of two drawn corpora that a study compares: of each alone, and of each from the other.

    Only two points of a grid are both drawn; of files nothing is known.
    """
    import connectors

    points, everything = grid_points(study), "+".join(block.name for block in p.blocks)
    asked = [m if m.x.strip() else m.model_copy(update={"x": everything}) for m in study.measures]
    if len(points) != 2 or study.source.connector is None:
        return ()
    found: list[Truth] = []
    for (point, corpus), (other, there) in (((points[0], p), (points[1], q)), ((points[1], q), (points[0], p))):
        known = connectors.divergences(study.source.connector, point.source.options, other.source.options)
        found += known_answers(point.source, study.name, corpus, asked)
        found += _rows(known, study.name, corpus, asked, reference_corpus_id=there.corpus_id)
    return tuple(found)


def _rows(
    answers: "Sequence[Known]",
    study: str,
    corpus: Corpus,
    questions: Sequence[MeasureSpec],
    reference_corpus_id: str = "",
) -> "tuple[Truth, ...]":
    from warehouse import Truth

    rows = [
        Truth(
            study,
            corpus.corpus_id,
            measure,
            known.nats,
            known.note or "by construction",
            x,
            y,
            z,
            mode,
            reference_corpus_id=reference_corpus_id,
        )
        for known in answers
        for measure, mode, x, y, z in (_key(known, corpus), *_asked_alike(known, corpus, questions))
    ]
    return tuple(dict.fromkeys(rows))


def _key(known: "Known", corpus: Corpus) -> tuple[str, str, str, str, str]:
    x, y, z = (_selection(text, corpus).text for text in (known.x, known.y, known.z))
    return known.measure, "whole", x, y, z


def _asked_alike(
    known: "Known", corpus: Corpus, questions: Sequence[MeasureSpec]
) -> Iterator[tuple[str, str, str, str, str]]:
    x, y, z = (_tokens(text, corpus) for text in (known.x, known.y, known.z))
    orders = [(x, y, z), (y, x, z)] if known.measure in _SYMMETRIC else [(x, y, z)]
    for question in questions:
        if question.measure == "jensen_shannon_divergence":
            continue  # asked of the mixture, whose label the corpus does not have
        if question.mode == "remove" or not question.x:
            continue
        for key in keys_of(question, corpus):
            asked = tuple(_tokens(text, corpus) for text in key[2:])
            if key[0] == known.measure and asked in orders:
                yield key


def _tokens(text: str, corpus: Corpus) -> frozenset[tuple[str, int]]:
    parts = _selection(text, corpus).parts
    return frozenset((name, position) for name, positions in parts for position in positions)


def _selection(text: str, corpus: Corpus) -> Selection:
    return corpus.select(text) if text else EMPTY
