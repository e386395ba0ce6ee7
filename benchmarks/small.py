"""A small study for benchmarks of everything but the engine: six letters and a label, seconds of training."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np


def write_table(path: Path, n: int = 400, seed: int = 0) -> Path:
    """``n`` rows of six letters and a label that is the first letter in nine of ten."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("ACGT"))[rng.integers(0, 4, (n, 6))]
    labels = np.where(rng.random(n) < 0.9, letters[:, 0], "A")
    path.write_text("\n".join(["x,label", *(f"{''.join(r)},{c}" for r, c in zip(letters, labels, strict=True)), ""]))
    return path


def write_study(folder: Path, *, steps: int = 60, name: str = "small", windows: bool = True) -> Path:
    """A study file beside its data; returns the file."""
    write_table(folder / "small.csv")
    measures: Sequence[dict] = [{"x": "x", "y": "label"}]
    if windows:
        measures = [*measures, {"x": "x", "y": "label", "mode": "keep", "window": 2}]
    study = {
        "name": name,
        "source": {
            "connector": "table",
            "path": "small.csv",
            "options": {"sequences": {"x": {"column": "x"}}, "categories": {"label": "label"}},
        },
        "model": {
            "network": [{"kind": "pairwise"}],
            "folds": 2,
            "training": {"budget": "steps", "steps": steps, "batch_size": 128, "evaluate_every": 20},
        },
        "measures": measures,
    }
    path = folder / f"{name}.json"
    path.write_text(json.dumps(study, indent=1))
    return path
