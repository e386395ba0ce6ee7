"""Options of the ``fasta`` connector, and those that all connectors of letters share."""

import re
from typing import ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from connectors.options import Options, Policy


class LetterOptions(Options):
    """How letters become tokens of fixed length; every policy is counted and reported."""

    too_long: ClassVar[str] = "choose sequences of one length"
    """What a person may do about sequences that are too long or unequal."""

    block: str = Field("sequence", description="name of the block of letters")
    alphabet: str = Field("auto", min_length=1, description="dna, rna, protein, the letters themselves, or auto")
    soft_mask: Literal["upper", "keep", "hide", "drop", "error"] = Field(
        "upper", description="lower-case letters: read as upper case, or keep (as symbols) | hide | drop | error"
    )
    n: Policy = Field("drop", description="N, or X in proteins: drop the sequence | keep | hide | error")
    ambiguous: Policy = Field("drop", description="other IUPAC letters for several: drop | keep | hide | error")
    gap: Policy = Field("keep", description="gaps - and .: keep (as the symbol -) | drop | hide | error")
    stop: Policy = Field("drop", description="stops *: drop | keep | hide | error")
    u_t: Literal["convert", "keep", "hide", "drop", "error"] = Field(
        "convert", description="U in DNA is read as T, T in RNA as U; or keep | hide | drop | error"
    )
    other: Policy = Field("error", description="any other letter: error | drop | keep | hide")
    lengths: Literal["reject", "drop", "crop", "pad"] = Field(
        "reject", description="unequal lengths: reject them, or drop, crop or pad to `length`"
    )
    length: int | None = Field(
        None, ge=1, description="letters in the block; by default the commonest (drop), shortest (crop), longest (pad)"
    )
    pad: str = Field("_", min_length=1, max_length=1, description="pad symbol, which becomes part of the alphabet")
    max_length: int = Field(5000, ge=1, description="longer blocks are refused")
    label_block: str = Field("label", description="name of the block of labels")
    balance: bool = Field(False, description="keep as many sequences of each label as the rarest has, by a seeded draw")
    seed: int = Field(0, ge=0, description="seed of the balancing draw")
    kmer: int = Field(1, ge=1, description="letters in a token")
    kmer_step: int | None = Field(None, ge=1, description="letters from one token to the next; by default `kmer`")

    @property
    def alphabet_name(self) -> str:
        """dna, rna, protein or auto in lower case, or the letters themselves as given."""
        lower = self.alphabet.lower()
        return lower if lower in ("dna", "rna", "protein", "auto") else self.alphabet

    @property
    def pads(self) -> bool:
        """Whether rows may be padded."""
        return self.lengths == "pad"

    @field_validator("pad")
    @classmethod
    def _plain_letter(cls, pad: str) -> str:
        if not pad.isascii() or not pad.isprintable() or pad.isspace():
            raise ValueError("the pad symbol must be one visible ASCII character")
        return pad


class FastaOptions(LetterOptions):
    """Options of the fasta connector."""

    too_long: ClassVar[str] = "cut them with `window`"

    format: Literal["auto", "fasta", "fastq", "genbank", "plain"] = Field(
        "auto", description="how the file is written; plain is one sequence a line; auto tells by content"
    )
    empty: Literal["drop", "error"] = Field("drop", description="records without letters")
    window: int | None = Field(None, ge=1, description="cut each record into windows of that many letters")
    window_step: int | None = Field(
        None, ge=1, description="letters from one window to the next; by default no overlap"
    )
    group_windows: int | None = Field(
        None,
        ge=1,
        description="neighbouring windows that are split and counted together; by default those of a record, "
        "or 20 where there are fewer than 20 records",
    )
    label_pattern: str | None = Field(
        None, description="regular expression with one group that finds the label in the header"
    )
    group_pattern: str | None = Field(
        None, description="regular expression with one group: headers that share it are split and counted together"
    )
    unmatched: Literal["error", "drop"] = Field("error", description="records whose header a pattern doesn't match")
    reverse_complement: Literal["none", "add", "replace"] = Field(
        "none", description="add the reverse complement of each sequence (same group), or replace it"
    )

    @field_validator("label_pattern", "group_pattern")
    @classmethod
    def _one_group(cls, pattern: str | None) -> str | None:
        if pattern is None:
            return None
        try:
            compiled = re.compile(pattern)
        except re.error as cause:
            raise ValueError(f"this is no regular expression ({cause})") from cause
        if compiled.groups != 1:
            raise ValueError(f"the pattern needs one group in brackets, it has {compiled.groups}")
        return pattern

    @model_validator(mode="after")
    def _steps_have_their_size(self) -> "FastaOptions":
        if self.window is None and (self.window_step is not None or self.group_windows is not None):
            raise ValueError("`window_step` and `group_windows` need `window`")
        if self.length is not None and self.lengths == "reject" and self.window is not None:
            raise ValueError("`window` sets the length: leave `length` out")
        return self
