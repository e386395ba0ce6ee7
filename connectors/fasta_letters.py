"""What each letter of a sequence file means: alphabets, soft-mask, IUPAC, N, gaps, stops, U and T."""

from dataclasses import dataclass, field

import numpy as np

from connectors.encoding import Letters, alphabet_symbols
from connectors.fasta_options import LetterOptions
from connectors.sources import Source

HIDDEN = 255
"""Marks a hidden letter among canonical bytes."""
OFF_END = 0
"""Marks a position past the end of a sequence among bytes as they were written; options with ``off_end`` know it."""
REASONS = (
    "", "a lower-case letter", "an N", "an ambiguous letter", "a gap", "a stop", "U for T", "another letter",
    "a position past the end",
)  # fmt: skip
_OPTION = ("", "soft_mask", "n", "ambiguous", "gap", "stop", "u_t", "other", "off_end")
_KNOWN, _SOFT, _N, _AMBIGUOUS, _GAP, _STOP, _U_T, _OTHER, _OFF_END = range(len(REASONS))

_DNA_CODES = "ACGTUNRYSWKMBDHV"
_COMPLEMENT = str.maketrans("ACGTUNRYSWKMBDHVacgtunryswkmbdhv", "TGCAANYRSWMKVHDBtgcaanyrswmkvhdb")


def alphabet_of(counts: np.ndarray) -> str:
    """dna, rna or protein, by the histogram of a file's bytes."""
    present = {chr(byte).upper() for byte in np.flatnonzero(counts)} - set("-.*")
    if present <= set(_DNA_CODES):
        return "rna" if "U" in present and "T" not in present else "dna"
    return "protein"


def byte_counts(flat: np.ndarray) -> np.ndarray:
    """(256,) how often each byte occurs; pairs of bytes are counted at once."""
    even = len(flat) // 2 * 2
    pairs = np.bincount(flat[:even].view(np.uint16), minlength=1 << 16).reshape(256, 256)
    return pairs.sum(0) + pairs.sum(1) + np.bincount(flat[even:], minlength=256)


def translated(flat: np.ndarray, table: np.ndarray) -> np.ndarray:
    """``table[flat]`` for bytes, a contiguous copy."""
    return np.frombuffer(bytearray(flat.tobytes().translate(table.tobytes())), np.uint8)


@dataclass
class Reader:
    """Turns bytes as they were written into canonical bytes under the policies, and counts what it met.

    ``canonical[b]`` is the byte kept for b, ``HIDDEN`` where it is hidden; ``reason[b]`` says why b is
    special (an index into ``REASONS``), 0 for a letter of the alphabet.
    """

    alphabet: str
    options: LetterOptions
    canonical: np.ndarray = field(init=False)
    reason: np.ndarray = field(init=False)
    seen: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.symbols = alphabet_symbols(self.alphabet)
        self.nucleic = self.alphabet in ("dna", "rna")
        self.canonical = np.full(256, HIDDEN, np.uint8)
        self.reason = np.full(256, _OTHER, np.uint8)
        self.seen = np.zeros(256, np.int64)
        for byte in range(33, 127):
            self.canonical[byte], self.reason[byte] = self._meaning(chr(byte))
        off_end = getattr(self.options, "off_end", None)
        if off_end is not None:
            self.reason[OFF_END] = _OFF_END
            self.canonical[OFF_END] = ord(self.options.pad) if off_end == "pad" else HIDDEN
        policies = [getattr(self.options, name, "") for name in _OPTION]
        self.stops = np.array([policy in ("drop", "error") for policy in policies])[self.reason]

    def _meaning(self, letter: str) -> tuple[int, int]:
        if letter in self.symbols:
            return ord(letter), _KNOWN
        upper = letter.upper()
        folds = letter != upper and not any(symbol.islower() for symbol in self.symbols)
        if folds and upper in self.symbols:
            policy = self.options.soft_mask
            return ord({"upper": upper, "keep": letter}.get(policy, chr(HIDDEN))), _SOFT
        plain = upper if folds else letter
        kind = self._kind(plain)
        policy = getattr(self.options, _OPTION[kind])
        if kind == _U_T and policy == "convert":
            return ord("T" if plain == "U" else "U"), _U_T
        kept = "-" if kind == _GAP else plain
        return (ord(kept) if policy == "keep" else HIDDEN), kind

    def _kind(self, letter: str) -> int:
        if letter in "-.":
            return _GAP
        if letter == "*":
            return _STOP
        if self.nucleic:
            kinds = {"U": _U_T, "T": _U_T, "N": _N, **dict.fromkeys("RYSWKMBDHV", _AMBIGUOUS)}
        else:
            kinds = {"X": _N, **dict.fromkeys("BZJUO", _AMBIGUOUS)} if self.alphabet == "protein" else {}
        return kinds.get(letter, _OTHER)

    def policy(self, reason: int) -> str:
        return getattr(self.options, _OPTION[reason])

    def special_rows(self, letters: Letters, counts: np.ndarray) -> list[tuple[int, np.ndarray, int]]:
        """(reason, mask of the rows, first offending position in the flat letters) for reasons that drop or stop.

        ``counts`` are the byte counts of the letters.
        """
        if not counts[self.stops].any():
            return []
        bad = np.flatnonzero(self.stops[letters.flat])
        ends = np.cumsum(letters.lengths)
        rows, reasons = np.searchsorted(ends, bad, side="right"), self.reason[letters.flat[bad]]
        found = []
        for reason in np.unique(reasons):
            mask = np.zeros(len(ends), bool)
            mask[rows[reasons == reason]] = True
            found.append((int(reason), mask, int(bad[reasons == reason][0])))
        return found

    def read(self, letters: Letters, counts: np.ndarray) -> Letters:
        """Canonical bytes of letters whose rows are all kept; adds their byte counts to what was seen."""
        self.seen += counts
        present = np.flatnonzero(counts)
        if (self.canonical[present] == present).all():
            return letters
        return Letters(translated(letters.flat, self.canonical), letters.lengths)

    def reverse_complement(self, letters: Letters) -> Letters:
        """Each row backwards, each letter its partner; hidden letters and gaps stay what they are."""
        table = np.arange(256, dtype=np.uint8)
        for letter in "ACGTUNRYSWKMBDHVacgtunryswkmbdhv":
            table[ord(letter)] = ord(letter.translate(_COMPLEMENT))
        if self.alphabet == "rna":
            table[[ord("A"), ord("a")]] = ord("U"), ord("u")
        ends = letters.starts + letters.lengths
        backwards = np.repeat(ends + letters.starts - 1, letters.lengths) - np.arange(len(letters.flat))
        return Letters(translated(letters.flat[backwards], table), letters.lengths)

    def refusal(self, reason: int, letters: Letters, position: int, record: str, source: Source) -> Exception:
        """The error for a letter under the policy ``error``: which record, position and letter."""
        row = int(np.searchsorted(np.cumsum(letters.lengths), position, side="right"))
        offset = position - int(letters.starts[row])
        byte = int(letters.flat[position])
        shown = repr(chr(byte)) if byte < 128 else f"byte 0x{byte:02x}"
        return source.fail(
            f"the letter {shown} is not in the alphabet {' '.join(self.symbols)} ({REASONS[reason]})",
            where=f"record {record}, letter {offset + 1}",
            remedy=f"give another alphabet, or {_OPTION[reason]} = drop, keep or hide",
        )

    def hidden(self) -> dict[str, int]:
        """Letters that were hidden, by reason."""
        return self._by_reason(self.canonical == HIDDEN)

    def kept(self) -> dict[str, int]:
        """Letters that were special and are kept, converted or upper-cased, by reason."""
        return self._by_reason((self.canonical != HIDDEN) & (self.reason != _KNOWN) & (self.reason != _OFF_END))

    @property
    def may_add_symbols(self) -> bool:
        """Whether some letter beyond the alphabet was kept."""
        return any(
            chr(byte) not in self.symbols for byte in self.canonical[np.flatnonzero(self.seen)] if byte != HIDDEN
        )

    def keeps(self, symbol: str) -> bool:
        """Whether a letter was read that is kept as this symbol."""
        written = np.flatnonzero(self.seen)
        return bool((self.canonical[written[written != OFF_END]] == ord(symbol)).any())

    def _by_reason(self, which: np.ndarray) -> dict[str, int]:
        totals = np.bincount(self.reason[which], weights=self.seen[which], minlength=len(REASONS))
        return {reason: int(total) for reason, total in zip(REASONS, totals, strict=True) if reason and total}
