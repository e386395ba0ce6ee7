"""Which model a new one may start from: one of the same kind that has not seen the rows it will be judged on."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from infosedd.card import ModelCard, blocks_of, components_of, model_id
from infosedd.config import ModelConfig
from infosedd.corpus import Corpus
from infosedd.errors import InputError
from infosedd.fitting import components_for, mix_of
from infosedd.folds import Fold, most_by_chance, plan_folds, row_keys
from infosedd.layout import Layout

if TYPE_CHECKING:
    from infosedd.model import ScoreModel
    from infosedd.registry import ModelRegistry

CorpusOf = Callable[[str], Corpus | None]
"""The corpus of an id, or none where it is not at hand."""


def parent_for(
    registry: "ModelRegistry", corpus: Corpus, config: ModelConfig, seed: int, corpus_of: CorpusOf
) -> str | None:
    """Id of the model that a new one starts from; none where no model will do.

    A model that is there, or half trained, keeps the parent that it has.
    """
    cards = {card.model_id: card for card in registry.cards()}
    same = [c for c in cards.values() if c.corpus_id == corpus.corpus_id and c.seed == seed]
    made = [card for card in same if ModelConfig.parse(dict(card.config)) == config]
    if made:
        return made[-1].parent_model_id
    near = kin(cards.values(), corpus, config)
    begun = [c for c in near if registry.is_training(model_id(corpus.corpus_id, config, seed, c.model_id))]
    for card in (*begun, *near):
        if not has_seen([*line_of(card, cards)], corpus, config, seed, corpus_of):
            return card.model_id
    return None


def kin(cards: Iterable[ModelCard], corpus: Corpus, config: ModelConfig) -> list[ModelCard]:
    """Cards of models with the same blocks, vocabularies, network and process, the nearest first.

    Nearest: of the same corpus, then of a corpus of the same name, then the latest.
    """
    components, layout = components_for(corpus, config), Layout(corpus.blocks)
    targets = mix_of(config, layout).target_blocks
    alike = [
        card
        for card in cards
        if blocks_of(card) == corpus.blocks
        and components_of(card) == components
        and card.process == config.process
        and mix_of(ModelConfig.parse(dict(card.config)), layout).target_blocks == targets
    ]
    latest_first = sorted(alike, key=lambda card: card.created_at, reverse=True)
    return sorted(latest_first, key=lambda c: (c.corpus_id != corpus.corpus_id, c.corpus_name != corpus.name))


def has_seen(
    line: Sequence[ModelCard | None], corpus: Corpus, config: ModelConfig, seed: int, corpus_of: CorpusOf
) -> bool:
    """Has a model, or one that it came from, been trained on rows that the new model is judged on, fold by fold?

    Independent data have rows in common by chance. So the share of a fold's test rows that are among the
    rows it starts from is held against the share among its own training rows, scaled by how many there
    are. What can't be told counts as seen: a model or corpus that is no longer there, and groups and the
    draws of counted rows, which can't be matched between corpora.
    """
    folds = plan_folds(corpus, config.folds, seed)
    return any(card is None or _seen_by(card, corpus, folds, corpus_of) for card in line)


def _seen_by(card: ModelCard, corpus: Corpus, folds: Sequence[Fold], corpus_of: CorpusOf) -> bool:
    n_folds = ModelConfig.parse(dict(card.config)).folds
    if card.corpus_id == corpus.corpus_id:
        theirs = plan_folds(corpus, n_folds, card.seed)
        return len(theirs) != len(folds) or not all(
            np.array_equal(a.test, b.test) and _same(a.weights(corpus, "test"), b.weights(corpus, "test"))
            for a, b in zip(theirs, folds, strict=True)
        )
    other = corpus_of(card.corpus_id)
    if other is None or corpus.groups is not None or other.groups is not None:
        return True
    theirs, keys, other_keys = plan_folds(other, n_folds, card.seed), row_keys(corpus), row_keys(other)
    if any(fold.counts is not None for fold in (*folds, *theirs)):
        return True
    for number, fold in enumerate(folds):
        started = theirs[min(number, len(theirs) - 1)]
        learned = np.concatenate([started.training, started.validation])
        n, test = len(fold.test), keys[fold.test]
        own = float(np.isin(test, keys[fold.training]).mean())
        if np.isin(test, other_keys[learned]).mean() > most_by_chance(own, n, len(learned) / len(fold.training), n):
            return True
    return False


def _same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(a, b))


def require_unseen(
    parent: "ScoreModel",
    corpus: Corpus,
    config: ModelConfig,
    seed: int,
    cards: Mapping[str, ModelCard] | None = None,
    corpus_of: CorpusOf = lambda _: None,
) -> None:
    """InputError unless it can be told that the parent, and those it came from, saw no row that a child is judged on.

    ``cards`` are those of its forebears; a corpus is the child's, the one that the parent has at hand, or from
    ``corpus_of``.
    """
    at_hand = {c.corpus_id: c for c in (parent.corpus, corpus) if c is not None}
    line = [*line_of(parent.card, cards or {})]
    if has_seen(line, corpus, config, seed, lambda key: at_hand.get(key) or corpus_of(key)):
        raise InputError(
            "the parent may have been trained on rows that the new model is judged on",
            where=f"model {parent.card.model_id}",
            remedy="start from a model of the same folds or of other rows, with its corpus attached, or without one",
        )


def line_of(card: ModelCard, cards: Mapping[str, ModelCard]) -> Iterator[ModelCard | None]:
    """A model and those that it came from, back to the first; none for one that is no longer there."""
    current: ModelCard | None = card
    while current is not None:
        yield current
        if current.parent_model_id is None:
            return
        current = cards.get(current.parent_model_id)
    yield None
