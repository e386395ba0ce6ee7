"""Options of the ``variants`` connector."""

import re
from typing import Literal

from pydantic import Field, field_validator

from connectors.options import Options, Policy

REGION = re.compile(r"(?P<chromosome>[^:\s]+)(?::(?P<start>[\d,]+)-(?P<stop>[\d,]+))?")
BLOCK_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


class VariantsOptions(Options):
    """Options of the variants connector."""

    tokens: Literal["genotype", "phased", "haplotype"] = Field(
        "genotype", description="genotype: 0/1, no phase; phased: 0|1 apart from 1|0; haplotype: one allele, two rows"
    )
    blocks: Literal["chromosome", "site"] = Field("chromosome", description="one block a chromosome, or one a site")
    regions: dict[str, str] = Field(
        default_factory=dict, description="blocks by name: chromosome, or chromosome:start-stop (from 1, both inside)"
    )
    filter: Literal["pass", "all"] = Field("pass", description="sites marked by a filter: left out, or all read")
    constant: Literal["keep", "drop"] = Field("keep", description="sites at which all samples are alike: keep | drop")
    missing: Policy = Field(
        "hide", description="missing genotypes: hide | keep (as the symbol .) | drop the sample | error"
    )
    unphased: Literal["error", "hide", "drop"] = Field(
        "error", description="phased and haplotype: heterozygous calls without phase: error | hide | drop the sample"
    )
    max_length: int = Field(5000, ge=1, description="blocks of more sites are refused: choose `regions`")
    sample_column: str | None = Field(None, description="table of samples: column of their names; by default the first")
    labels: list[str] | None = Field(None, description="table of samples: columns that become blocks; by default all")
    unlabelled: Literal["error", "drop"] = Field("error", description="samples that the table lacks: error | drop")

    @field_validator("regions")
    @classmethod
    def _readable(cls, regions: dict[str, str]) -> dict[str, str]:
        for name, text in regions.items():
            if not BLOCK_NAME.fullmatch(name):
                raise ValueError(f"{name!r} is no name for a block: write letters, digits and _")
            if not REGION.fullmatch(text):
                raise ValueError(f"{text!r} is no region: write chr1 or chr1:1000-2000")
        return regions
