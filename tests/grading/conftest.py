"""Property tests have no time limit: a busy machine is not a wrong answer."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
