"""What a home takes on disk, part by part."""

from pathlib import Path

import polars as pl

from infosedd.errors import InputError
from warehouse.failures import explained


def du(home: Path | str) -> pl.DataFrame:
    """One row per entry of the home, the largest first: part, n_files, n_bytes."""
    home = Path(home)
    if not home.is_dir():
        raise InputError("there is no such home", where=str(home), remedy="check --home")
    with explained(home):
        rows = [(entry.name, *_size(entry)) for entry in home.iterdir()]
    frame = pl.DataFrame(rows, schema={"part": pl.String, "n_files": pl.Int64, "n_bytes": pl.Int64}, orient="row")
    return frame.sort("n_bytes", "part", descending=[True, False])


def _size(path: Path) -> tuple[int, int]:
    """Number of files and bytes at or below a path; links are counted, not followed."""
    files = [path] if not path.is_dir() or path.is_symlink() else [p for p in path.rglob("*") if not p.is_dir()]
    return len(files), sum(file.lstat().st_size for file in files)
