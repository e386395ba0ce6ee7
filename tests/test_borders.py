"""Which package may import which."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FORBIDDEN = {
    "infosedd": {"flows", "connectors", "warehouse", "prefect", "duckdb"},
    "connectors": {"flows", "warehouse", "prefect", "duckdb"},
    "warehouse": {"flows", "connectors", "prefect"},
    "flows": {"tests"},
}
HEAVY = {"torch", "prefect", "datasets", "sklearn", "matplotlib", "transformers"}
LIGHT = ("infosedd/corpus.py", "infosedd/blocks.py", "infosedd/errors.py", "infosedd/results.py", "flows/cli/*.py")


def imported(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name.partition(".")[0], node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module.partition(".")[0], node.lineno


@pytest.mark.parametrize("package", FORBIDDEN)
def test_a_package_imports_only_what_it_may(package: str) -> None:
    offences = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for name, line in imported(ast.parse(path.read_text()))
        if name in FORBIDDEN[package]
    ]
    assert offences == []


@pytest.mark.parametrize("path", [p for pattern in LIGHT for p in sorted(ROOT.glob(pattern))], ids=lambda p: p.name)
def test_a_light_module_imports_nothing_heavy_at_its_top(path: Path) -> None:
    top = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert {name for name, _ in imported(ast.Module(top, []))} & HEAVY == set()
