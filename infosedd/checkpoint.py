"""Tensors and facts in one file that is written whole or not at all, and read whole or not at all."""

import os
from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from infosedd.card import TRAINING_VERSION
from infosedd.errors import SurroundingsError


def write_state(file: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, str], what: str) -> None:
    """Write a state that a crash of the machine can't leave half written; SurroundingsError says that of ``what``."""
    partial = file.with_suffix(f".{os.getpid()}.partial")
    state = {name: value.detach().contiguous() for name, value in tensors.items()}
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        save_file(state, partial, metadata={**facts, "training_version": str(TRAINING_VERSION)})
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(partial, file)
    except (OSError, SafetensorError) as error:
        raise SurroundingsError(
            f"could not save {what}: {error}",
            where=str(file.parent),
            remedy="free space or check rights, then run again: training goes on from the last saved state",
        ) from error


def read_state(file: Path) -> tuple[dict[str, Tensor], dict[str, str]] | None:
    """The tensors, on the CPU, and facts of a file; none where it is damaged or another release's training wrote it.

    Raises SurroundingsError where the disk refuses.
    """
    facts = read_facts(file)
    return None if facts is None else (load_file(file), facts)


def read_facts(file: Path) -> dict[str, str] | None:
    """The facts of a file alone; none and errors as of ``read_state``."""
    try:
        with safe_open(file, "pt") as opened:  # checks the file's length too
            facts = opened.metadata() or {}
    except SafetensorError:
        return None
    except OSError as error:
        raise SurroundingsError(
            f"could not read a saved state: {error}", where=str(file), remedy="check the disk and rights"
        ) from error
    return facts if facts.get("training_version") == str(TRAINING_VERSION) else None
