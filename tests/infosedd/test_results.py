"""Estimates: units, other estimators, warnings, text."""

import math
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from infosedd.errors import InputError, SurroundingsError
from infosedd.results import MEASURES, NORMAL_95, Estimate


def make(**changes) -> Estimate:
    facts = {"measure": "entropy", "nats": 2.0, "std_error": 0.1, "ci_low": 1.8, "ci_high": 2.2, "n_samples": 1234}
    return Estimate(**{**facts, **changes})


def test_units_and_text() -> None:
    estimate = make(nats=2 * math.log(2))
    assert estimate.bits == pytest.approx(2)
    assert str(estimate) == "1.386 ± 0.1 nats (2 bits), n = 1,234"
    assert pytest.approx(0.975, abs=1e-12) == 0.5 * (1 + math.erf(NORMAL_95 / math.sqrt(2)))


def test_other_estimators_are_found_by_name() -> None:
    dynkin = make(estimator="dynkin", nats=2.1)
    estimate = make(others=(dynkin, make(estimator="plug_in")))
    assert estimate.other("dynkin") is dynkin
    assert estimate.other("nsb") is None


def test_warnings_are_added_once_and_estimates_do_not_change() -> None:
    estimate = make(warnings=("a",))
    more = estimate.with_warning("b", "a", "b")
    assert set(more.warnings) == {"a", "b"}
    assert estimate.warnings == ("a",)
    with pytest.raises(FrozenInstanceError):
        estimate.nats = 3.0  # type: ignore[misc]


def test_equality_leaves_out_arrays_and_the_repr_too() -> None:
    one, two = make(pointwise=np.zeros(3)), make(pointwise=np.ones(3), rows=np.arange(3))
    assert one == two
    assert "pointwise" not in repr(one)


def test_a_notebook_shows_all_estimators_and_any_text_as_it_is() -> None:
    others = (make(estimator="plug_in", nats=1.5, ci_low=math.nan),)
    html = make(x="<b>x</b>", y="y & z", others=others, warnings=("<script>",))._repr_html_()
    assert "entropy (&lt;b&gt;x&lt;/b&gt;; y &amp; z)" in html
    assert "<td>plug in</td><td>1.5000 ± 0.1000</td><td>–</td>" in html
    assert "<li>&lt;script&gt;</li>" in html and "<script>" not in html
    assert "1.8000 to 2.2000" in html and "1,234" in html


def test_names_of_measures_are_unique() -> None:
    assert len(set(MEASURES)) == len(MEASURES) == 8


@pytest.mark.parametrize(("kind", "code"), [(InputError, 2), (SurroundingsError, 3)])
def test_errors_are_one_line_and_survive_a_worker_process(kind: type, code: int) -> None:
    error = kind("what\nhappened", where="in file.csv", remedy="do  this")
    assert str(error) == "what happened, in file.csv; do this"
    assert str(kind("what")) == "what"
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.remedy, again.exit_code) == (kind, str(error), error.remedy, code)


def test_errors_keep_their_own_attributes_in_a_worker_process() -> None:
    from infosedd.training import NonFiniteLossError

    again = pickle.loads(pickle.dumps(NonFiniteLossError(17)))
    assert again.step == 17
    assert "at step 17" in str(again)
