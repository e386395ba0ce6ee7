"""Known data sets of the hub, with their columns mapped to blocks."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Preset:
    """A data set's name and the options of the hub connector that fit it."""

    data_set: str
    options: Mapping[str, object]


_SCORES = ("relevance", "coherence", "fluency", "consistency")

PRESETS = {
    "human_nontata_promoters": Preset(
        "katarinagresova/Genomic_Benchmarks_human_nontata_promoters",
        {
            "sequences": {"promoter": {"column": "seq", "alphabet": "dna", "unknown": "drop"}},
            "categories": {"label": {"columns": ["label"]}},
        },
    ),
    "summeval": Preset(
        "mteb/summeval",
        {
            "explode": ["machine_summaries", *_SCORES],
            "texts": {
                "document": {"column": "text", "tokenizer": "word", "lengths": "fit", "length": 384},
                "summary": {"column": "machine_summaries", "tokenizer": "word", "lengths": "fit", "length": 96},
            },
            "bins": {score: {"columns": [score], "edges": [2.0, 3.0, 4.0]} for score in _SCORES},
            "groups": {"column": "text"},
        },
    ),
}
