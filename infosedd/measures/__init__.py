"""Information measures, one a file, each a plan of KL terms that any score can evaluate."""

from infosedd.measures.dual_total_correlation import dual_total_correlation
from infosedd.measures.entropy import entropy
from infosedd.measures.kl_divergence import kl_divergence
from infosedd.measures.mutual_information import mutual_information
from infosedd.measures.o_information import o_information
from infosedd.measures.plan import Plan, Term, evaluate
from infosedd.measures.total_correlation import total_correlation

__all__ = [
    "Plan",
    "Term",
    "dual_total_correlation",
    "entropy",
    "evaluate",
    "kl_divergence",
    "mutual_information",
    "o_information",
    "total_correlation",
]
