"""Readers of the files people have: each turns a source into an ``infosedd.Corpus``::

from connectors import ingest
corpus = ingest("table", ["mine.csv"], {"categories": {"x": "genotype", "y": "colour"}}, name="mine")
"""

from connectors.errors import ConnectorError
from connectors.guessing import Guess, guess
from connectors.info import ConnectorInfo, Truth
from connectors.registry import connectors, divergences, get, ingest, truths

PROJECT = "infosedd"
__all__ = [
    "ConnectorError",
    "ConnectorInfo",
    "Guess",
    "Truth",
    "connectors",
    "divergences",
    "get",
    "guess",
    "ingest",
    "truths",
]
