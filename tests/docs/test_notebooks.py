"""The notebooks run from top to bottom, and show what their texts say."""

import json
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert not [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")]


@pytest.fixture(scope="module")
def shown(monkeypatch_module: pytest.MonkeyPatch) -> nbformat.NotebookNode:
    """The notebook of the Python interface as it is after it ran, in a kernel that imports this checkout."""
    monkeypatch_module.setenv("PYTHONPATH", str(ROOT))
    monkeypatch_module.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    notebook = nbformat.read(ROOT / "docs" / "notebooks" / "python-interface.ipynb", as_version=4)
    NotebookClient(notebook, timeout=280, kernel_name="python3").execute()
    return notebook


@pytest.fixture(scope="module")
def monkeypatch_module():
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def outputs(notebook: nbformat.NotebookNode, words: str, kind: str) -> list[str]:
    """What the cell that holds ``words`` shows as ``kind``."""
    cell = next(cell for cell in notebook.cells if cell.cell_type == "code" and words in cell.source)
    return [output.data[kind] for output in cell.outputs if kind in output.get("data", {})]


def test_the_python_interface_finds_what_was_planted(shown: nbformat.NotebookNode) -> None:
    truth = float(outputs(shown, "truth = sum", "text/plain")[0].split("(")[-1].rstrip(")"))
    by_estimator = eval(outputs(shown, "e.estimator: round", "text/plain")[0])
    assert truth == pytest.approx(0.3238, abs=0.0001)
    assert by_estimator["loss_difference"] == pytest.approx(truth, abs=0.06)
    assert by_estimator["plug_in"] == pytest.approx(0.693, abs=0.002)
    assert outputs(shown, "again.mutual_information", "text/plain") == ["True"]


def test_estimates_and_profiles_have_a_display_and_a_picture(shown: nbformat.NotebookNode) -> None:
    (table,) = outputs(shown, "infosedd.mutual_information(sequences", "text/html")
    assert "loss difference" in table and "plug in" in table
    (profile,) = outputs(shown, "model.profile", "text/html")
    assert profile.index("promoter[4:6]") < profile.index("promoter[3:5]") and "data:image/png" in profile
    assert outputs(shown, "estimate.plot()", "image/png") and outputs(shown, "profile.plot", "image/png")
