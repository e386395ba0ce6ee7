"""Results that live in SQL for years: a DuckDB file that flows write and a published copy that everyone reads."""

from warehouse.records import Check, ExternalScore, RefusedRow, Truth
from warehouse.writer import Warehouse, Written

PROJECT = "infosedd"
__all__ = ["Check", "ExternalScore", "RefusedRow", "Truth", "Warehouse", "Written"]
