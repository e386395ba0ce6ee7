"""How much information discrete data carries: measures, in nats, with error bars.

>>> import infosedd
>>> estimate = infosedd.mutual_information(["ACGT", "TTGA", ...], ["a", "b", ...])  # doctest: +SKIP
>>> print(estimate)  # doctest: +SKIP
1.386 ± 0.012 nats (2.0 bits), n = 2,000

Names are loaded when first used, so that ``import infosedd`` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from infosedd.blocks import Block, Selection, Vocabulary
    from infosedd.config import ModelConfig
    from infosedd.corpus import Corpus, Provenance
    from infosedd.errors import InfoseddError, InputError, SurroundingsError
    from infosedd.functions import (
        dual_total_correlation,
        entropy,
        kl_divergence,
        learning_curve,
        mutual_information,
        o_information,
        permutation_null,
        total_correlation,
        transfer_entropy,
    )
    from infosedd.model import ScoreModel
    from infosedd.registry import ModelRegistry
    from infosedd.results import Estimate

_HOME = {
    "infosedd.blocks": ("Block", "Selection", "Vocabulary"),
    "infosedd.config": ("ModelConfig",),
    "infosedd.corpus": ("Corpus", "Provenance"),
    "infosedd.errors": ("InfoseddError", "InputError", "SurroundingsError"),
    "infosedd.functions": (
        "dual_total_correlation",
        "entropy",
        "kl_divergence",
        "learning_curve",
        "mutual_information",
        "o_information",
        "permutation_null",
        "total_correlation",
        "transfer_entropy",
    ),
    "infosedd.model": ("ScoreModel",),
    "infosedd.registry": ("ModelRegistry",),
    "infosedd.results": ("Estimate",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Block",
    "Corpus",
    "Estimate",
    "InfoseddError",
    "InputError",
    "ModelConfig",
    "ModelRegistry",
    "Provenance",
    "ScoreModel",
    "Selection",
    "SurroundingsError",
    "Vocabulary",
    "dual_total_correlation",
    "entropy",
    "kl_divergence",
    "learning_curve",
    "mutual_information",
    "o_information",
    "permutation_null",
    "total_correlation",
    "transfer_entropy",
]


def __getattr__(name: str):
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'infosedd' has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)
