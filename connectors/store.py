"""A growing array of bytes that moves to a temporary file once it is large."""

import tempfile
from collections.abc import Iterator
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
        joined, start = np.empty(self.size, np.uint8), 0
        for piece in self._released():
            joined[start : start + len(piece)] = piece
            start += len(piece)
        return joined

    def _released(self) -> Iterator[np.ndarray]:
        """The pieces in order, each let go of once it is taken: all of them at once would be there twice."""
        self._pieces.reverse()
        while self._pieces:
            yield self._pieces.pop()

    def _spill(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="infosedd-")  # noqa: SIM115 (the memory map needs it open)
        for piece in self._released():
            self._write(piece)

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
