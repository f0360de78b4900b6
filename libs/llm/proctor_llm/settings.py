"""What the adapters read from the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .limits import Limit, parse_limits
from .retry import RetryPolicy

__all__ = ["LlmSettings"]

_BASE_URLS = {
    "anthropic": ("ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
    "groq": ("GROQ_BASE_URL", "https://api.groq.com"),
    "openai": ("OPENAI_BASE_URL", "https://api.openai.com/v1"),
}


@dataclass(frozen=True, slots=True)
class LlmSettings:
    """Base URLs by provider, folders, limits and retry.

    `price_file` lies over the packaged prices, `replay_dir` holds recorded replies, and with `record_dir`
    set every reply is recorded there.
    """

    base_urls: Mapping[str, str] = field(
        default_factory=lambda: {name: url for name, (_, url) in _BASE_URLS.items()}
    )
    api_keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    limits: Mapping[str, Limit] = field(default_factory=dict)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    price_file: Path | None = None
    replay_dir: Path | None = None
    record_dir: Path | None = None

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> LlmSettings:
        """Read PROCTOR_LLM_LIMITS, PROCTOR_LLM_TRIES, PROCTOR_PRICES, PROCTOR_REPLAY_DIR, PROCTOR_RECORD_DIR
        and the providers' `…_API_KEY` and `…_BASE_URL`.

        Raises:
            ValueError: naming the variable that cannot be read.
        """  # noqa: D205 - one sentence, two lines
        try:
            limits = parse_limits(environ.get("PROCTOR_LLM_LIMITS", ""))
        except ValueError as error:
            raise ValueError(f"PROCTOR_LLM_LIMITS: {error}") from error
        tries = environ.get("PROCTOR_LLM_TRIES", "4")
        if not tries.isdecimal() or int(tries) == 0:
            raise ValueError(f"PROCTOR_LLM_TRIES: {tries!r} is not a positive whole number")
        keys = {name: environ.get(f"{name.upper()}_API_KEY", "") for name in _BASE_URLS}
        return cls(
            base_urls={name: environ.get(variable) or url for name, (variable, url) in _BASE_URLS.items()},
            api_keys={name: key for name, key in keys.items() if key},
            limits=limits,
            retry=RetryPolicy(max_tries=int(tries)),
            price_file=_path(environ, "PROCTOR_PRICES"),
            replay_dir=_path(environ, "PROCTOR_REPLAY_DIR"),
            record_dir=_path(environ, "PROCTOR_RECORD_DIR"),
        )


def _path(environ: Mapping[str, str], name: str) -> Path | None:
    return Path(environ[name]) if environ.get(name) else None
