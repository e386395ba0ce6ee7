"""Drawing: windows and their bands, names that don't collide, texts as they are, light imports."""

import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from infosedd.errors import InputError
from infosedd.plotting import Site, Windows, plot_bars, plot_estimate, plot_histogram, plot_profile
from infosedd.plotting.axes import label
from infosedd.plotting.palette import COLOURS, letter_colours
from infosedd.plotting.profile import band_factor, place_names, span_of
from infosedd.results import Estimate
from tests.report.report_homes import HOSTILE, make_estimate


@dataclass(frozen=True)
class Profile:
    estimates: tuple[Estimate, ...]


def profile_of(values, width: int = 3, step: int = 1) -> Profile:
    spans = [f"s[{i * step}:{i * step + width}]" for i in range(len(values))]
    about = {"y": "y", "mode": "keep"}
    estimates = [make_estimate("mutual_information", v, 0.01, x=x, **about) for v, x in zip(values, spans, strict=True)]
    return Profile(tuple(estimates))


def axes():
    return Figure(figsize=(6, 3)).add_subplot()


def test_spans():
    assert span_of("s[3:9]") == ("s", 3, 9)
    assert span_of("s[3]") == ("s", 3, 4)
    assert span_of("s", 20) == ("s", 0, 20)
    for bad in ("s", "s[3:9]+s[10]", "a+b"):
        with pytest.raises(InputError, match="is not one window"):
            span_of(bad)


def test_windows_are_in_order_of_position():
    windows = Windows.of(Profile(tuple(reversed(profile_of([0.1, 0.2, 0.3]).estimates))))
    assert windows.starts.tolist() == [0, 1, 2]
    assert windows.nats.tolist() == [0.1, 0.2, 0.3]
    assert windows.centres.tolist() == [1, 2, 3]
    assert not windows.tiled and Windows.of(profile_of([1, 2], width=3, step=3)).tiled


def test_windows_of_two_blocks_or_none_are_refused():
    estimates = [make_estimate("mutual_information", 1, 0.1, x=x) for x in ("a[0:2]", "b[0:2]")]
    mixed = Profile(tuple(estimates))
    with pytest.raises(InputError, match="different blocks"):
        Windows.of(mixed)
    with pytest.raises(InputError, match="no windows"):
        Windows.of(Profile(()))


def test_bands_are_normal_quantiles_over_all_windows():
    assert band_factor(1) == pytest.approx(1.959964, abs=1e-6)
    assert band_factor(70) == pytest.approx(3.384036, abs=1e-5)
    windows = Windows.of(profile_of([0.1] * 70))
    np.testing.assert_allclose(windows.half_width(simultaneous=True), 0.01 * band_factor(70))


def test_a_shoulder_is_no_peak():
    windows = Windows.of(profile_of([0, 0.1, 0.5, 0.9, 0.5, 0.4, 0.35, 0.1, 0, 0.3, 0, 0.02, 0, 0, 0]))
    assert windows.peaks(2) == [3, 9] and windows.peaks(0) == []
    assert windows.clear_peaks(3) == [3, 9]


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=40), st.integers(1, 6))
def test_peaks_never_overlap_and_fall(values, width):
    windows = Windows.of(profile_of(values, width=width))
    peaks = windows.peaks(4)
    assert peaks and windows.nats[peaks[0]] == windows.nats.max()
    starts = sorted(windows.starts[peaks])
    assert all(b - a >= width for a, b in pairwise(starts))
    heights = windows.nats[peaks].tolist()
    assert heights == sorted(heights, reverse=True)


SITES = st.tuples(st.text("abcxyz", min_size=1, max_size=30), st.integers(0, 90), st.integers(1, 10))


@given(st.lists(SITES, max_size=8))
def test_names_of_sites_never_cover_one_another(sites):
    placed = place_names([Site(n, a, a + w) for n, a, w in sites], (-0.5, 99.5), 400.0)
    assert len(placed) == len(sites)
    points = 100 / 400 * 5.4
    for i, (text, centre, row, _) in enumerate(placed):
        for other, place, line, _ in placed[:i]:
            if row == line:
                assert abs(centre - place) >= 0.5 * points * (len(text) + len(other) + 1)


def test_a_profile_is_drawn_over_centres_with_both_bands():
    ax = plot_profile(profile_of([0, 0.1, 0.4, 0.1]), axes(), sites=[Site("box", 2, 5)], length=6, offset=-3)
    line = ax.lines[0]
    np.testing.assert_allclose(line.get_xdata(), [1, 2, 3, 4])
    np.testing.assert_allclose(line.get_ydata(), [0, 0.1, 0.4, 0.1])
    assert len(ax.collections) == 2
    assert ax.get_xlim() == (-0.5, 5.5)
    assert "box" in [text.get_text() for text in ax.texts]
    names = [ax.xaxis.get_major_formatter()(tick) for tick in ax.get_xticks()]
    assert "\u22122" in names or "0" in names


def test_an_estimate_is_drawn_with_its_others_and_ceilings():
    other = make_estimate("mutual_information", 0.69, 0.01, estimator="plug_in")
    estimate = make_estimate(
        "mutual_information", 0.5, 0.02, y="bin", others=(other,), diagnostics={"ln_n": 9.0, "entropy_y_nats": log(2)}
    )
    ax = plot_estimate(estimate, axes())
    texts = [text.get_text() for text in ax.texts]
    assert "H(bin) = 0.693" in texts
    assert "ln n = 9 \u2192" in texts
    assert [t.get_text() for t in ax.get_yticklabels()] == ["model, loss difference", "plug-in count"]


def test_estimates_draw_themselves():
    import matplotlib

    matplotlib.use("Agg")
    assert make_estimate("entropy", 1.0, 0.1).plot().get_xlabel() == "nats"


def test_texts_are_shown_as_they_are():
    assert label(HOSTILE, 200).startswith('<script>alert("x")</script> $\\frac{')
    assert "\x1b" not in label(HOSTILE, 200) and "\u202e" not in label(HOSTILE, 200)
    assert label("a\n b\t c") == "a b c"
    assert label("x" * 50, 10) == "x" * 9 + "…"
    ax = plot_bars(np.array([0.4, 0.6]), ["$\\frac{", "_a^"], axes())
    ax.figure.savefig("/dev/null", format="svg")  # would raise if read as mathematics
    assert ax.get_yticklabels()[0].get_text() == "$\\frac{"


def test_whole_numbers_get_bins_of_equal_content():
    ax = plot_histogram(np.arange(100), axes(), bins=40)
    heights = [patch.get_height() for patch in ax.patches]
    assert set(heights[:-1]) == {3.0} and sum(heights) == 100


def test_every_role_has_its_own_hex_on_light_paper():
    lights = [light for light, _ in COLOURS.values()]
    assert len(set(lights)) == len(lights)
    assert len(set(letter_colours("ACGT").values())) == 4
    assert set(letter_colours(["the", "of"]).values()) == {COLOURS["model"][0]}


def test_imports_stay_light():
    heavy = ("matplotlib", "torch", "prefect", "pandas", "sklearn", "jinja2")
    script = f"import sys, infosedd.plotting, flows.report; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
