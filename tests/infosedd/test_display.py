"""What a notebook shows of a profile: its picture, its highest windows, its warnings; any text as it is."""

import numpy as np
import pytest

from infosedd.errors import InputError
from infosedd.questions import Profile
from infosedd.results import Estimate


def profile(n: int = 8, mode: str = "keep", warnings: tuple[str, ...] = ()) -> Profile:
    nats = [0.1 * i for i in range(n)]
    facts = {"y": "<i>label</i>", "mode": mode, "warnings": warnings}
    estimates = [
        Estimate("mutual_information", v, 0.01, v - 0.02, v + 0.02, 500, x=f"promoter[{i}:{i + 3}]", **facts)
        for i, v in enumerate(nats)
    ]
    return Profile(tuple(estimates), np.arange(n), 3, mode)  # type: ignore[arg-type]


def test_a_profile_shows_its_picture_and_its_highest_windows() -> None:
    html = profile()._repr_html_()
    assert "8 windows of 3 alone: mutual information with &lt;i&gt;label&lt;/i&gt;" in html
    assert html.count("data:image/png;base64,") == 1
    assert html.index("promoter[7:10]") < html.index("promoter[3:6]") and "promoter[2:5]" not in html
    assert "0.7000 ± 0.0100" in html and "0.6800 to 0.7200" in html
    assert str(profile()).startswith("8 windows of 3 (keep), the highest promoter[7:10]: 0.7 ± 0.01 nats")


def test_a_warning_of_many_windows_is_said_once() -> None:
    html = profile(mode="remove", warnings=("<b>bad</b>",))._repr_html_()
    assert "<li>&lt;b&gt;bad&lt;/b&gt; (and 7 more windows)</li>" in html
    assert "hidden, and all else read" in html


def test_a_profile_plots_with_both_bands() -> None:
    import matplotlib

    matplotlib.use("Agg")
    axes = profile().plot()
    assert len(axes.collections) == 2
    with pytest.raises(InputError):
        Profile((), np.arange(0), 3, "keep").plot()
