"""The colours, by role; each is used for one role only, so that a page can swap it for its dark twin."""

from collections.abc import Sequence

COLOURS: dict[str, tuple[str, str]] = {
    "ink": ("#1d2129", "#ecebe6"),
    "muted": ("#5f6671", "#a3a7ae"),
    "rule": ("#d8d9d6", "#3d4147"),
    "paper": ("#fffffe", "#16181b"),
    "model": ("#1b5fae", "#78b1f5"),
    "other": ("#b24a12", "#f39a63"),
    "count": ("#8a7443", "#cfb57a"),
    "site": ("#f0e6cd", "#3a3322"),
    "letter-a": ("#23825a", "#5fcf9d"),
    "letter-c": ("#2a66c4", "#82adff"),
    "letter-g": ("#a97b0c", "#e7bd4a"),
    "letter-t": ("#bf3a30", "#ff8b80"),
}
"""Role -> (on light paper, on dark paper)."""


def colour(role: str) -> str:
    """The hex colour of a role, on light paper."""
    return COLOURS[role][0]


def letter_colours(symbols: Sequence[str]) -> dict[str, str]:
    """A colour a symbol: the four of DNA or RNA have their own, other alphabets share one."""
    if {s.upper() for s in symbols} <= set("ACGTUN-"):
        roles = {"A": "letter-a", "C": "letter-c", "G": "letter-g", "T": "letter-t", "U": "letter-t"}
        return {symbol: colour(roles.get(symbol.upper(), "muted")) for symbol in symbols}
    return {symbol: colour("model") for symbol in symbols}
