"""From gathered letters to tokens of fixed length: length policies, codes, k-mers."""

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from connectors.encoding import Letters
from connectors.errors import ConnectorError
from connectors.fasta_letters import HIDDEN, Reader, byte_counts, translated
from connectors.fasta_options import LetterOptions
from connectors.sources import Source
from infosedd.blocks import Vocabulary

_MAX_SYMBOLS = 1 << 16
_CHUNK = 1 << 24


def fixed_length(
    letters: Letters,
    asked: LetterOptions,
    files: Sequence[Source],
    drop: Callable[[int, str], None],
    id_of: Callable[[int], str],
) -> tuple[np.ndarray, np.ndarray]:
    """An (n, length) array of canonical bytes and the mask of the rows that are in it."""
    lengths = letters.lengths
    length = asked.length or _natural_length(lengths, asked.lengths)
    if length > asked.max_length:
        raise files[0].fail(
            f"sequences of {length:,} letters are longer than the {asked.max_length:,} that a block may have",
            remedy=f"{asked.too_long}, or raise `max_length`",
        )
    low, high = {"crop": (length, None), "pad": (0, length)}.get(asked.lengths, (length, length))
    fits = lengths >= low
    if high is not None:
        fits &= lengths <= high
    if not fits.all() and asked.lengths != "drop":
        row = int(np.flatnonzero(~fits)[0])
        raise files[0].fail(
            f"sequences have unequal lengths: this one has {lengths[row]:,} letters, the block {length:,}",
            where=f"kept sequence {row + 1} ({id_of(row)})",
            remedy=f"give lengths = drop, crop or pad, or {asked.too_long}",
        )
    drop(int((~fits).sum()), f"a length other than {length}")
    if (lengths == length).all():
        return letters.flat.reshape(-1, length), fits
    return _refitted(letters, fits, length, ord(asked.pad)), fits


def letter_tokens(
    letters: np.ndarray, reader: Reader, asked: LetterOptions, error: type[ConnectorError]
) -> tuple[Vocabulary, np.ndarray]:
    """The alphabet with the symbols that occur beyond it, and codes in place of canonical bytes."""
    symbols, pads = reader.symbols, False
    if asked.pads or reader.may_add_symbols:
        counts = sum(byte_counts(part.reshape(-1)) for part in _parts(letters))
        present = {chr(byte) for byte in np.flatnonzero(counts) if byte != HIDDEN}
        pads = asked.pads and asked.pad in present
        symbols += "".join(sorted(present - {*reader.symbols, *(asked.pad if pads else "")}))
    if pads and (asked.pad in reader.symbols or reader.keeps(asked.pad)):
        raise error(f"the pad symbol {asked.pad!r} is a letter of the sequences", remedy="give another `pad`")
    letters_in_order = tuple(dict.fromkeys(symbols))
    vocabulary = Vocabulary((*letters_in_order, asked.pad) if pads else letters_in_order, asked.pad if pads else None)
    table = np.full(256, vocabulary.mask_id, np.uint8)
    for symbol, code in vocabulary.code_of.items():
        table[ord(symbol)] = code
    if not letters.flags.writeable:
        letters = letters.copy()
    for part in _parts(letters):
        part[...] = translated(part, table).reshape(part.shape)
    return vocabulary, letters


def kmers(
    codes: np.ndarray, vocabulary: Vocabulary, asked: LetterOptions, error: type[ConnectorError]
) -> tuple[Vocabulary, np.ndarray]:
    """Tokens of ``kmer`` letters; one with a hidden letter is hidden, one with a pad is the pad."""
    size, step = asked.kmer, asked.kmer_step or asked.kmer
    if size == 1 and step == 1:
        return vocabulary, codes
    letters = [symbol for symbol in vocabulary.symbols if symbol != vocabulary.pad]
    n_symbols = len(letters) ** size
    if codes.shape[1] < size or n_symbols > _MAX_SYMBOLS:
        problem = f"{n_symbols:,} symbols" if n_symbols > _MAX_SYMBOLS else f"only {codes.shape[1]} letters a sequence"
        raise error(f"tokens of {size} letters are too long: there would be {problem}", remedy="give a smaller kmer")
    words = ["".join(word) for word in product(letters, repeat=size)]
    pad = vocabulary.pad
    result = Vocabulary((*words, pad) if pad else tuple(words), pad)
    starts = np.arange(0, codes.shape[1] - size + 1, step)
    tokens = np.zeros((len(codes), len(starts)), result.dtype)
    hidden, padded = np.zeros(tokens.shape, bool), np.zeros(tokens.shape, bool)
    for offset in range(size):
        letter = codes[:, starts + offset]
        tokens = tokens * len(letters) + np.where(letter < len(letters), letter, 0).astype(result.dtype)
        hidden |= letter == vocabulary.mask_id
        if pad:
            padded |= letter == vocabulary.code_of[pad]
    tokens[hidden] = result.mask_id
    if pad:
        tokens[padded] = result.code_of[pad]
    return result, tokens


def _natural_length(lengths: np.ndarray, policy: str) -> int:
    values, counts = np.unique(lengths, return_counts=True)
    return int({"crop": values[0], "pad": values[-1]}.get(policy, values[np.argmax(counts)]))


def _refitted(letters: Letters, fits: np.ndarray, length: int, pad: int) -> np.ndarray:
    """The fitting rows, cropped or padded to ``length``, a part at a time."""
    result = np.empty((int(fits.sum()), length), np.uint8)
    starts, ends = letters.starts, letters.starts + letters.lengths
    columns = np.arange(length)
    per_part, done = max(1, _CHUNK // length), 0
    for low in range(0, len(fits), per_part):
        part = slice(low, low + per_part)
        keep, lengths = fits[part], letters.lengths[part]
        if (lengths[keep] == length).all():
            flat = letters.flat[starts[low] : ends[part][-1]]
            rows = flat[np.repeat(keep, lengths)].reshape(-1, length)
        else:
            inside = columns < lengths[keep, None]
            index = np.where(inside, starts[part][keep, None] + columns, 0)
            rows = np.where(inside, letters.flat[index], pad)
        result[done : done + len(rows)] = rows
        done += len(rows)
    return result


def _parts(letters: np.ndarray) -> list[np.ndarray]:
    per_part = max(1, _CHUNK // max(1, letters.shape[1]))
    return [letters[low : low + per_part] for low in range(0, len(letters), per_part)]
