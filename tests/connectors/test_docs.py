"""The example of docs/connectors.md works as printed."""

import re
from pathlib import Path

import pytest

import connectors
from connectors import errors

PAGE = Path(__file__).parents[2] / "docs" / "connectors.md"


class DiceError(errors.ConnectorError):
    """Rolls that can't be read."""


def test_the_example_connector(tmp_path, monkeypatch):
    code = re.search(r'```python\n("""Dice.*?)```', PAGE.read_text(), re.DOTALL)
    assert code is not None
    monkeypatch.setattr(errors, "DiceError", DiceError, raising=False)
    module: dict = {"__name__": "dice"}
    exec(code[1], module)
    path = tmp_path / "rolls.txt"
    path.write_text("3-5\n6-6\n")
    corpus = module["read"]([str(path)], {}, "rolls")
    assert corpus.tokens["first"][:, 0].tolist() == [2, 5]
    path.write_text("3-5\n7-1\n")
    with pytest.raises(DiceError, match=r"'7-1' is no roll of two dice, line 2 of"):
        module["read"]([str(path)], {}, "rolls")
    with pytest.raises(DiceError, match="did you mean 'separator'"):
        module["read"]([str(path)], {"seperator": "-"}, "rolls")


def test_every_connector_is_on_the_page():
    text = PAGE.read_text()
    assert all(f"| `{info.name}` |" in text for info in connectors.connectors())
