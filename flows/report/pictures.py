"""All pictures of a page, in the order they are shown; each is there only if its data is."""

from flows.report.amounts import all_estimates, estimators
from flows.report.context import Context
from flows.report.data_pictures import composition, draws, length_histogram, sequences
from flows.report.footprint import footprints
from flows.report.logo import logo
from flows.report.pairs import pairs
from flows.report.render import Picture


def pictures(context: Context) -> list[Picture]:
    """What this run has to show."""
    wanted = [
        *footprints(context),
        logo(context),
        estimators(context),
        all_estimates(context),
        pairs(context),
        sequences(context),
        draws(context),
        composition(context),
        length_histogram(context),
    ]
    return [picture for picture in wanted if picture is not None]
