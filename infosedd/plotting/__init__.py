"""Pictures of estimates, profiles and corpora; matplotlib is imported when one is drawn.

Every function draws on the axes it is given and returns them. Colours come from ``palette``, where
each has a twin for dark pages.
"""

from infosedd.plotting.corpus import plot_bars, plot_histogram, plot_lattices, plot_matrix
from infosedd.plotting.estimate import plot_estimate, plot_estimates
from infosedd.plotting.profile import Site, Windows, plot_profile, plot_sites
from infosedd.plotting.sequence import plot_letters, plot_logo, plot_positions

__all__ = [
    "Site",
    "Windows",
    "plot_bars",
    "plot_estimate",
    "plot_estimates",
    "plot_histogram",
    "plot_lattices",
    "plot_letters",
    "plot_logo",
    "plot_matrix",
    "plot_positions",
    "plot_profile",
    "plot_sites",
]
