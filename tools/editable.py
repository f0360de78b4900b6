"""`python -m tools.editable`: whether this environment runs the checkout itself and not a copy of it."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

__all__ = ["main", "runs_checkout"]

ROOT = Path(__file__).resolve().parents[1]


def runs_checkout(package: str = "proctor_cli") -> bool:
    """Look where a package would be imported from."""
    found = find_spec(package)
    return found is not None and found.origin is not None and Path(found.origin).is_relative_to(ROOT / "libs")


def main() -> int:
    """End with 0 when it is the checkout."""
    return 0 if runs_checkout() else 1


if __name__ == "__main__":
    sys.exit(main())
