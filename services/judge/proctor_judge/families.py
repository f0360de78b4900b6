"""Which family a model belongs to: a judge tends to like the answers of its own kin."""

from __future__ import annotations

import re

__all__ = ["family", "kinship_note"]

_FAMILIES = (
    ("anthropic", re.compile(r"claude|\bhaiku\b|\bsonnet\b|\bopus\b")),
    ("openai", re.compile(r"gpt|chatgpt|(^|[/:])o[1-9](-|$)|davinci")),
    ("google", re.compile(r"gemini|gemma|palm")),
    ("meta", re.compile(r"llama")),
    ("mistral", re.compile(r"mistral|mixtral|codestral|ministral")),
    ("qwen", re.compile(r"qwen|qwq")),
    ("deepseek", re.compile(r"deepseek")),
    ("xai", re.compile(r"grok")),
    ("cohere", re.compile(r"command-|cohere|aya-")),
    ("kimi", re.compile(r"kimi|moonshot")),
)


def family(provider: str | None, model: str | None) -> str | None:
    """Name a model's family; None when its name does not tell."""
    name = (model or "").casefold()
    known = next((name_of for name_of, pattern in _FAMILIES if pattern.search(name)), None)
    return known or ("anthropic" if provider == "anthropic" else None)


def kinship_note(*, judge: tuple[str | None, str | None], agent: tuple[str | None, str | None]) -> str | None:
    """Warn when judge and agent (each provider and model) are of one family, or None."""
    judges, agents = family(*judge), family(*agent)
    if judges is None or judges != agents:
        return None
    return f"judge_kinship: judge and agent are both {judges} models, which favour each other's answers"
