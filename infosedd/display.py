"""What a notebook shows of an estimate and of a profile: HTML in which every text shows as it is."""

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from io import BytesIO
from math import isfinite
from typing import TYPE_CHECKING

from infosedd.results import Estimate

if TYPE_CHECKING:
    from infosedd.questions import Profile

TOP_WINDOWS = 5
COLUMNS = ("nats", "95 % interval", "bits", "n")


def estimate_html(estimate: Estimate) -> str:
    """The estimate with its interval, the same quantity by other estimators, and the warnings."""
    given = f" | {estimate.z}" if estimate.z else ""
    inside = "; ".join(filter(None, [estimate.x, estimate.y]))
    title = f"{estimate.measure.replace('_', ' ')} ({inside}{given})" if inside else estimate.measure.replace("_", " ")
    rows = [[e.estimator.replace("_", " "), *_cells(e)] for e in (estimate, *estimate.others)]
    return _titled(title) + _table(["estimator", *COLUMNS], rows) + _warnings(estimate.warnings)


def profile_html(profile: "Profile") -> str:
    """The picture of the profile, its highest windows, and each warning with how many windows have it."""
    estimates = profile.estimates
    how = "alone" if profile.mode == "keep" else "hidden, and all else read"
    title = f"{len(estimates)} windows of {profile.window} {how}: mutual information with {estimates[0].y}"
    order = sorted(estimates, key=lambda e: -e.nats)[:TOP_WINDOWS]
    table = _table(["highest windows", *COLUMNS], [[e.x, *_cells(e)] for e in order])
    counts = Counter(text for e in estimates for text in e.warnings)
    warnings = [text if n == 1 else f"{text} (and {n - 1} more windows)" for text, n in counts.most_common(TOP_WINDOWS)]
    return _titled(title) + _picture(profile) + table + _warnings(warnings)


def _cells(e: Estimate) -> list[str]:
    interval = f"{e.ci_low:.4f} to {e.ci_high:.4f}" if isfinite(e.ci_low) and isfinite(e.ci_high) else "–"
    return [f"{e.nats:.4f} ± {e.std_error:.4f}", interval, f"{e.bits:.4f}", f"{e.n_samples:,}"]


def _titled(title: str) -> str:
    return f"<p><b>{escape(title)}</b></p>"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _warnings(texts: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>" if texts else ""


def _picture(profile: "Profile") -> str:
    """The profile as an image that needs no file beside it."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from infosedd.plotting import plot_profile
    from infosedd.plotting.axes import RC

    drawn = BytesIO()
    with rc_context(RC):
        figure = Figure(figsize=(8.0, 2.8), layout="constrained")
        plot_profile(profile, figure.add_subplot(), length=int(profile.starts[-1]) + profile.window)
        figure.savefig(drawn, format="png", dpi=110, facecolor="white")
    return f'<img alt="information profile" src="data:image/png;base64,{b64encode(drawn.getvalue()).decode()}">'
