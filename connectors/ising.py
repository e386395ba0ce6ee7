"""Draws of the Ising model, square lattices and chains, with their exact entropy and information.

Small lattices are drawn exactly, each draw independent; larger ones by Swendsen-Wang in many
independent chains, and each chain is then a group of the corpus.
"""

from collections.abc import Mapping, Sequence
from math import log
from typing import Literal

import numpy as np
from pydantic import Field

from connectors.errors import IsingError
from connectors.info import ConnectorInfo, Truth
from connectors.ising_exact import MAX_EXACT_WIDTH, Boundary, RowTransfer, exact, kl_between_temperatures
from connectors.options import Options, parse_options
from infosedd.blocks import Block, Symmetry, Vocabulary
from infosedd.corpus import Corpus, Provenance
from infosedd.randomness import numpy_stream


class IsingOptions(Options):
    """Options of the ising connector; the coupling is 1, temperatures are in its units."""

    length: int = Field(8, ge=2, description="number of rows, L")
    width: int | None = Field(None, ge=1, description="spins in a row; by default L, and 1 makes a chain")
    temperature: float = Field(2.269, gt=0, allow_inf_nan=False, description="temperature, T")
    boundary: Boundary = Field(
        "torus", description="torus: closed both ways; cylinder: rows are rings; open: no closed direction"
    )
    n: int = Field(20_000, ge=1, description="number of draws")
    seed: int = Field(0, ge=0, description="seed of the draws")
    method: Literal["auto", "exact", "swendsen_wang"] = Field(
        "auto", description=f"exact draws need rows of at most {MAX_EXACT_WIDTH} spins; auto takes them where it can"
    )
    chains: int | None = Field(None, ge=1, description="swendsen_wang: independent chains; by default up to 256")
    burn_in: int | None = Field(None, ge=0, description="swendsen_wang: sweeps left out; by default from a pilot run")
    thin: int | None = Field(None, ge=1, description="swendsen_wang: sweeps between draws; by default from a pilot run")

    @property
    def row_width(self) -> int:
        return self.length if self.width is None else self.width

    @property
    def draws_exactly(self) -> bool:
        fits = self.row_width <= MAX_EXACT_WIDTH
        if self.method == "exact" and not fits:
            raise IsingError(
                f"exact draws need rows of at most {MAX_EXACT_WIDTH} spins, not {self.row_width}",
                remedy="leave `method` out, or turn the lattice so that its rows are the short side",
            )
        return fits if self.method == "auto" else self.method == "exact"


def read(sources: Sequence[str], options: Mapping[str, object], name: str) -> Corpus:
    """Draw spin configurations; there is no source file."""
    if sources:
        raise IsingError("the ising connector reads no file", where=sources[0], remedy="give options only")
    asked = _parsed(options)
    spins, groups, notes = _draw(asked)
    shape = (asked.length,) if asked.row_width == 1 else (asked.length, asked.row_width)
    block = Block(
        "spins",
        Vocabulary(("-", "+")),
        asked.length * asked.row_width,
        shape,
        periodic=asked.boundary == "torus",
        symmetries=_symmetries(asked),
    )
    provenance = Provenance(
        connector="ising",
        source_uri=f"ising:{asked.length}x{asked.row_width}@{asked.temperature:g}",
        options=asked.model_dump(exclude_none=True),
        n_read=asked.n,
        notes=notes,
    )
    return Corpus(name=name, blocks=(block,), tokens={"spins": spins}, groups=groups, provenance=provenance)


def _symmetries(asked: IsingOptions) -> tuple[Symmetry, ...]:
    """Without a field up and down are alike; a torus looks the same from every site, a square from each side."""
    lattice: tuple[Symmetry, ...] = ("translations",) if asked.boundary == "torus" else ()
    square = asked.length == asked.row_width and asked.boundary != "cylinder"
    return (*lattice, "reflections", *(("rotations",) if square else ()), "symbol_flip")


def truths(options: Mapping[str, object]) -> tuple[Truth, ...]:
    """Exact entropy, total correlation and information between the top and bottom half, where known."""
    asked = _parsed(options)
    rows, width = asked.length, asked.row_width
    known = exact(rows, width, asked.temperature, asked.boundary)
    if known is None:
        return ()
    way = "Kaufman" if asked.boundary == "torus" and width > 1 else "transfer matrix"
    note = f"{way}; energy {known.energy:.10g}, log partition function {known.log_partition:.10g}"
    found = [
        Truth("entropy", known.entropy, "spins", note=note),
        Truth("total_correlation", rows * width * log(2) - known.entropy, "spins", note=way),
    ]
    if width <= MAX_EXACT_WIDTH:
        transfer = RowTransfer(rows, width, asked.temperature, asked.boundary)
        cut, end = rows // 2 * width, rows * width
        halves = f"spins[0:{cut}]", f"spins[{cut}:{end}]"
        found.append(Truth("mutual_information", transfer.halves_information(), *halves, note="transfer matrix"))
    return tuple(found)


def divergences(options: Mapping[str, object], others: Mapping[str, object]) -> tuple[Truth, ...]:
    """Exact KL from the same lattice at another temperature, where known."""
    here, there = _parsed(options), _parsed(others)
    lattice, other = ((o.length, o.row_width, o.boundary) for o in (here, there))
    if lattice != other:
        return ()
    kl = kl_between_temperatures(here.length, here.row_width, here.temperature, there.temperature, here.boundary)
    note = f"ln Z' + E / T' - H at T = {here.temperature:g}, T' = {there.temperature:g}"
    return () if kl is None else (Truth("kl_divergence", kl, "spins", note=note),)


def _parsed(options: Mapping[str, object]) -> IsingOptions:
    asked = parse_options(IsingOptions, options, IsingError, "ising")
    cluster_only = sorted(asked.model_fields_set & {"chains", "burn_in", "thin"})
    if cluster_only and asked.draws_exactly:
        raise IsingError(
            f"exact draws do not read {cluster_only[0]!r}", remedy="leave it out, or give method = swendsen_wang"
        )
    return asked


def _draw(asked: IsingOptions) -> tuple[np.ndarray, np.ndarray | None, tuple[str, ...]]:
    rng = numpy_stream("ising", asked.seed)
    rows, width = asked.length, asked.row_width
    if asked.draws_exactly:
        spins = RowTransfer(rows, width, asked.temperature, asked.boundary).sample(asked.n, rng)
        return spins, None, ("exact independent draws by transfer matrix",)
    from connectors.ising_sampler import ClusterSampler, draw

    chains = asked.chains or min(256, asked.n)
    run = draw(
        asked.n,
        ClusterSampler(rows, width, asked.temperature, asked.boundary, chains, rng),
        asked.burn_in,
        asked.thin,
    )
    note = (
        f"Swendsen-Wang: {chains} chains, {run.burn_in} sweeps of burn-in, a draw every {run.thin} sweeps, "
        f"integrated autocorrelation time {run.autocorrelation_time:.2f} sweeps; chains are groups"
    )
    return run.spins, run.chains, (note,)


INFO = ConnectorInfo(
    name="ising",
    summary="spin configurations of the Ising model on a lattice or chain, with exact values beside them",
    formats=("none: it draws",),
    options_model=IsingOptions,
    read=read,
    truths=truths,
    divergences=divergences,
    needs_source=False,
)
