"""The made part of docs/warehouse.md is that of the schema and the examples of today."""

from pathlib import Path

from warehouse import reference, schema
from warehouse.examples import examples

PAGE = Path(__file__).resolve().parents[2] / "docs" / "warehouse.md"


def test_the_page_is_up_to_date() -> None:
    text = PAGE.read_text()
    assert reference.rewritten(text) == text, "run `python -m warehouse.reference docs/warehouse.md`"


def test_the_page_names_every_table_view_and_example() -> None:
    text = PAGE.read_text()
    for name in [*schema.TABLES, *(view.name for view in schema.views()), *(e.name for e in examples())]:
        assert f"### {name}\n" in text
    assert all(example.sql in text for example in examples())
