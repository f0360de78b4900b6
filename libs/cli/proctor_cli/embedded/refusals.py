"""The API's refusals as the command knows them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from proctor_api.errors import ApiError
from proctor_api.local import problem_of
from proctor_cli.client import PlatformRefused, PlatformUnavailable
from proctor_store.session import StoreUnavailable

__all__ = ["translated"]


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Raise what a platform may raise instead of what the API raises."""
    try:
        yield
    except ApiError as error:
        raise PlatformRefused(problem_of(error)) from error
    except StoreUnavailable as error:
        raise PlatformUnavailable(f"the database in the state folder cannot be used: {error}") from error
