"""Options of the ``table`` connector."""

from typing import Literal

from pydantic import Field

from connectors.frame_options import FrameOptions


class TableOptions(FrameOptions):
    """Options of the table connector; without any block the columns are told by their content."""

    label_block: str = Field("label", description="name of the block of labels, where sources are LABEL=PATH")
    format: Literal["auto", "csv", "tsv", "parquet", "arrow", "jsonl"] = Field(
        "auto", description="how the file is written; auto tells by name and content"
    )
    delimiter: str | None = Field(None, min_length=1, max_length=1, description="CSV: the character between cells")
    header: bool = Field(True, description="CSV: the first line names the columns; else column_1, column_2 ...")
    comment: str | None = Field(None, min_length=1, description="CSV: lines that start so are left out")
    missing_values: list[str] = Field(
        default_factory=lambda: ["", "NA", "NaN", "nan", "null", "None"], description="CSV: cells that count as empty"
    )
