"""``infosedd check`` on the command line: what it prints, and what it refuses before anything runs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flows.checking import Checked, Cost, Reference
from flows.cli import check as command
from flows.cli import invoke
from flows.steps import Trained
from flows.study import build_study
from infosedd.arrays import corpus_of
from infosedd.consistency import Skipped, Verdict
from infosedd.results import Estimate

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def checked() -> Checked:
    estimate = Estimate("mutual_information", 0.5, 0.01, 0.48, 0.52, 400, x="x", y="label")
    return Checked(
        run_id="r1",
        study=build_study({"name": "small", "title": "A small study", "measures": [{"x": "x", "y": "label"}]}, (), ""),
        corpus=corpus_of({"x": [0, 1], "label": [0, 1]}),
        model=Trained("m1", True, 1.0),
        reference=Reference("c1", "m1", estimate),
        cost=Cost(3, 1, 90.0),
        verdicts=(
            Verdict("swapping", "x and y swapped: I", True, 0.49, 0.01, 0.5, 0.0566),
            Verdict("permutation_null", "above what refits give", False, 0.5, 0.01, 0.48, None, {"p_value": 0.4}),
        ),
        skipped=(Skipped("coarsening", "no block has more than two symbols to merge"),),
        seconds=100.0,
    )


def test_failures_are_rows_that_stand_out(checked: Checked, capsys: pytest.CaptureFixture[str]) -> None:
    command._show(checked)
    out = capsys.readouterr().out
    assert "A small study: I(x; label) = 0.5 ± 0.01 nats" in out
    line = next(line for line in out.splitlines() if "permutation_null" in line)
    assert "FAIL" in line and " - " in line
    assert "pass" in next(line for line in out.splitlines() if "swapping" in line)
    assert "skipped coarsening: no block has more than two symbols" in out
    assert "checks that hold: 1 of 2; models trained: 2; 1 min 40 s in all" in out


def test_all_of_it_is_in_the_json(checked: Checked) -> None:
    content = json.loads(json.dumps(command._as_json(checked)))
    assert (content["n_failed"], content["n_fits"], content["n_fits_stored"]) == (1, 3, 1)
    assert content["checks"][1]["figures"] == {"p_value": 0.4}
    assert content["checks"][0]["expected_nats"] == 0.5
    assert content["skipped"] == {"coarsening": "no block has more than two symbols to merge"}


def test_the_cost_in_words() -> None:
    assert str(Cost(7, 0, 125.0)) == "models to train: 7, about 2 min 5 s"
    assert str(Cost(7, 3, 50.0)) == "models to train: 4 and 3 stored, about 50 s"
    assert str(Cost(7, 7, 0.0)) == "models to train: none, all 7 are stored"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["lac-promotor"], ["did you mean 'lac-promoter'"]),
        (["lac-promoter", "--rows", "0"], ["--rows"]),
        (["lac-promoter", "--null", "-1"], ["--null"]),
        (["lac-promoter", "--only", "additivty"], ["no check 'additivty'", "did you mean 'additivity'"]),
    ],
)
def test_wrong_input_is_refused_before_anything_runs(
    arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert invoke(["check", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("error: ") and captured.err.count("\n") == 1
    for word in words:
        assert word in captured.err


@pytest.mark.slow
@pytest.mark.prefect
def test_a_study_is_checked_by_one_command(tmp_path: Path) -> None:
    from benchmarks.small import write_study

    study = write_study(tmp_path, steps=20, windows=False)
    arguments = [
        "check",
        str(study),
        "--only",
        "independence",
        "--rows",
        "200",
        "--home",
        str(tmp_path / "home"),
        "--json",
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [sys.executable, "-m", "infosedd", *arguments], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert run.returncode == 0, run.stderr
    content = json.loads(run.stdout)
    assert [c["name"] for c in content["checks"]] == ["independence"] and content["n_samples"] == 200
    assert "models to train: 1, about " in run.stderr
