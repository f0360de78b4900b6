"""Whether tests on real servers may be skipped."""

from __future__ import annotations

import os

__all__ = ["real_servers_required"]


def real_servers_required() -> bool:
    """Whether a missing server is a failure (in CI and under `make test`) rather than a skip."""
    return "true" in (os.environ.get("CI"), os.environ.get("PROCTOR_REQUIRE_REAL"))
