"""All pictures of a page, in the order they are shown; each is there only if its data is."""

from collections import Counter
from dataclasses import replace

from flows.report.amounts import all_estimates, estimators
from flows.report.comparison import position_pictures
from flows.report.context import Context
from flows.report.curves import curves
from flows.report.data_pictures import composition, draws, length_histogram, sequences
from flows.report.footprint import footprints
from flows.report.logo import logo
from flows.report.pairs import pairs
from flows.report.render import Picture


def pictures(context: Context) -> list[Picture]:
    """What this run has to show."""
    wanted = [
        curves(context),
        *footprints(context),
        *position_pictures(context),
        logo(context),
        estimators(context),
        all_estimates(context),
        pairs(context),
        sequences(context),
        draws(context),
        composition(context),
        length_histogram(context),
    ]
    return _told_apart([picture for picture in wanted if picture is not None])


def _told_apart(found: list[Picture]) -> list[Picture]:
    """Pictures of the same kind get numbers, so that ids and file names differ."""
    seen: Counter[str] = Counter()
    apart = []
    for picture in found:
        seen[picture.slug] += 1
        end = f"-{seen[picture.slug]}" if seen[picture.slug] > 1 else ""
        data = {f"{name}{end}": rows for name, rows in picture.data.items()}
        apart.append(replace(picture, slug=f"{picture.slug}{end}", data=data))
    return apart
