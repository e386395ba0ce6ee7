"""A growing array of bytes that moves to a temporary file once it is large."""

import tempfile
from typing import IO

import numpy as np

from infosedd.errors import SurroundingsError

_IN_MEMORY = 1 << 28


class ByteStore:
    """Bytes appended piece by piece; ``array`` gives all of them, memory-mapped where they are many."""

    def __init__(self, in_memory: int = _IN_MEMORY) -> None:
        self._limit = in_memory
        self._pieces: list[np.ndarray] = []
        self._file: IO[bytes] | None = None
        self.size = 0

    def append(self, piece: np.ndarray) -> None:
        self.size += len(piece)
        if self._file is not None:
            self._write(piece)
            return
        self._pieces.append(piece)
        if self.size > self._limit:
            self._spill()

    def array(self) -> np.ndarray:
        """All the bytes, writable; the store is not appended to afterwards."""
        if self._file is not None:
            self._file.flush()
            return np.memmap(self._file, np.uint8, "r+")
        joined = np.concatenate(self._pieces) if self._pieces else np.empty(0, np.uint8)
        self._pieces = []
        return joined

    def _spill(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="infosedd-")  # noqa: SIM115 (the memory map needs it open)
        for piece in self._pieces:
            self._write(piece)
        self._pieces = []

    def _write(self, piece: np.ndarray) -> None:
        try:
            assert self._file is not None
            self._file.write(np.ascontiguousarray(piece).data)
        except OSError as cause:
            raise SurroundingsError(
                f"could not set the sequences aside ({cause.strerror})",
                where=tempfile.gettempdir(),
                remedy="free space in the temporary folder",
            ) from cause
