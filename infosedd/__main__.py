"""Start the command line, after checking that its packages are ours.

``flows``, ``connectors`` and ``warehouse`` are generic names: another installed package may own
them. This is the only module of ``infosedd`` that leads to another package, and it holds no logic.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from infosedd.errors import SurroundingsError

OTHERS = ("flows", "connectors", "warehouse")
MARK = 'PROJECT = "infosedd"'
"""A line that the ``__init__`` of each of them holds."""


def main() -> None:
    """The command ``infosedd``."""
    try:
        check_packages()
    except SurroundingsError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None
    import_module("flows.cli").main()


def check_packages() -> None:
    """An error where one of our packages is missing or belongs to somebody else."""
    ours = Path(__file__).resolve().parent.parent
    for name in OTHERS:
        spec = find_spec(name)
        origin = Path(spec.origin).resolve() if spec is not None and spec.origin else None
        if origin is not None and origin.parent.parent == ours and _is_ours(origin):
            continue
        locations = list(spec.submodule_search_locations or ()) if spec is not None else []
        found = origin or (locations[0] if locations else "nowhere")
        raise SurroundingsError(
            f"the name {name!r} belongs to another package",
            where=f"found at {found} instead of {ours / name}",
            remedy="install infosedd in an environment of its own, without that package",
        )


def _is_ours(init: Path) -> bool:
    return MARK in init.read_text(encoding="utf-8", errors="replace")


if __name__ == "__main__":
    main()
