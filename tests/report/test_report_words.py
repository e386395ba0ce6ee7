"""Numbers as text, and what the headline says of each measure."""

from math import log, nan

import pytest

from flows.report.words import digits, formula, headline, listed, number
from infosedd.results import Estimate
from tests.report.report_homes import make_estimate, promoter_corpus

CORPUS = promoter_corpus(n=40)


def said(estimate: Estimate, **more) -> str:
    return " ".join(headline(estimate, CORPUS, **more).sentences)


def test_numbers():
    assert number(-0.5, 2) == "\u22120.50"
    assert number(-0.0001, 2) == "0.00"
    assert number(12345.678, 1) == "12,345.7"
    assert number(nan) == number(None) == "–"
    assert digits(0.0101) == 3 and digits(0.5) == 2 and digits(25.0) == 0 and digits(1e-9) == 6
    assert digits(nan, 0.5264) == 4 and digits(0.0, 0.0) == 3
    assert listed(["a", "b", "c"]) == "a, b and c" and listed(["a"]) == "a"


def test_formula():
    assert formula(make_estimate("conditional_mutual_information", 1, 0.1, x="a", y="b", z="c")) == "I(a; b | c)"
    assert formula(make_estimate("o_information", 1, 0.1, x="a")) == "Ω(a)"


def test_information_about_a_label():
    estimate = make_estimate(
        "mutual_information", 0.5, 0.01, x="promoter", y="label", diagnostics={"entropy_y_nats": log(2)}
    )
    text = said(estimate)
    assert "Reading the 20 letters of promoter removes 0.500 nats (0.721 bits) of the 0.693 nats" in text
    assert "about label: 72\u00a0%" in text
    assert "among 2.0 values; read, among 1.2" in text
    assert "read it as at least this much" in text
    found = headline(estimate, CORPUS)
    assert found.share == pytest.approx(0.5 / log(2)) and found.share_of == "the entropy of label"
    assert found.bar is not None and found.bar.low < found.bar.value < found.bar.high
    assert found.bar.rest == pytest.approx(100 - found.bar.high, abs=0.02)


def test_the_headline_says_how_common_each_label_is():
    estimate = make_estimate("mutual_information", 0.5, 0.01, x="promoter", y="label")
    labels = CORPUS.tokens["label"][:, 0]
    common = ("low", "high") if (labels == 0).sum() >= 20 else ("high", "low")
    top = max((labels == code).mean() for code in (0, 1))
    assert (
        headline(estimate, CORPUS).labels
        == f"{common[0]} {100 * top:.1f}\u00a0%, {common[1]} {100 - 100 * top:.1f}\u00a0%"
    )
    assert headline(make_estimate("entropy", 0.5, 0.01, x="promoter"), CORPUS).labels == ""
    many = promoter_corpus(n=60, classes=[f"c{i}" for i in range(7)])
    assert headline(estimate, many).labels.count(",") == 4 and "3 others" in headline(estimate, many).labels


def test_no_information_is_said_when_the_interval_holds_zero():
    estimate = make_estimate("mutual_information", 0.01, 0.01, x="promoter", y="label")
    assert "No information was found" in said(estimate)
    assert headline(estimate, CORPUS).bar is None


def test_only_a_label_makes_a_bound():
    assert "no bound" in said(make_estimate("mutual_information", 5, 0.1, x="promoter[0:5]", y="promoter[5:10]"))
    assert "no bound" in said(make_estimate("total_correlation", 5, 0.1, x="promoter"))
    assert "at most this much" in said(make_estimate("entropy", 5, 0.1, x="promoter"))
    assert "bound" not in said(make_estimate("mutual_information", 5, 0.1, x="promoter", y="label", estimator="dynkin"))


def test_entropy_is_told_by_position_and_against_its_ceiling():
    estimate = make_estimate("entropy", 20 * log(2), 0.1, x="promoter")
    text = said(estimate)
    assert "20.00 bits are needed" in text
    assert "as a fair draw among 2.00 symbols" in text
    assert "50.0\u00a0% of what could be random is structure" in text
    assert headline(estimate, CORPUS).share == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("measure", "nats", "words"),
    [
        ("o_information", 1.0, "redundancy outweighs synergy"),
        ("o_information", -1.0, "synergy outweighs redundancy"),
        ("o_information", 0.01, "neither redundancy nor synergy"),
        ("total_correlation", 1.0, "hold 1.00 nats less randomness"),
        ("dual_total_correlation", 1.0, "is shared"),
        ("jensen_shannon_divergence", 0.3, "0.433 bits of the one bit"),
        ("kl_divergence", log(3), "3 times as likely under its own corpus as under mouse: about 3 draws"),
        ("kl_divergence", -0.1, "differ by \u22120.10 nats"),
    ],
)
def test_other_measures(measure, nats, words):
    assert words in said(make_estimate(measure, nats, 0.1, x="promoter"), reference_name="mouse")


def test_an_estimate_without_interval_says_so():
    bare = Estimate("entropy", 1.0, nan, nan, nan, 40, x="promoter")
    assert "No interval could be computed." in said(bare)
    assert headline(bare, None).low == "–"
