"""A small study with real training: short sequences, a label that their first letters decide."""

from pathlib import Path

import numpy as np
import pytest

from flows.home import Home
from flows.study import Study, build_study

TRAINING = {"budget": "steps", "steps": 60, "batch_size": 128, "evaluate_every": 20}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.create(tmp_path / "home")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """400 rows of six letters and a label, the first letter's in nine of ten."""
    return write_table(tmp_path / "small.csv")


@pytest.fixture
def study(table: Path) -> Study:
    return study_of(table)


def write_table(path: Path, n: int = 400, seed: int = 0) -> Path:
    rng = np.random.default_rng(seed)
    letters = np.array(list("ACGT"))[rng.integers(0, 4, (n, 6))]
    labels = np.where(rng.random(n) < 0.9, letters[:, 0], "A")
    rows = [f"{''.join(row)},{label}" for row, label in zip(letters, labels, strict=True)]
    path.write_text("\n".join(["x,label", *rows, ""]))
    return path


def study_of(table: Path, **changes: object) -> Study:
    raw = {
        "name": "small",
        "source": {
            "connector": "table",
            "path": str(table),
            "options": {"sequences": {"x": {"column": "x"}}, "categories": {"label": "label"}},
        },
        "model": {"network": [{"kind": "pairwise"}], "training": TRAINING, "folds": 2},
        "measures": [
            {"measure": "mutual_information", "x": "x", "y": "label"},
            {"measure": "mutual_information", "x": "x", "y": "label", "mode": "keep", "window": 2, "step": 2},
            {"measure": "entropy", "x": "label"},
        ],
        "sites": [{"name": "first", "block": "x", "start": 0, "stop": 1}],
    }
    return build_study(raw | changes, (), "small")
