"""What a suite says that probably is not meant: warnings that need no case's checks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from proctor_chassis.secrets import Redactor, Secrets
from proctor_contracts.base import Json
from proctor_contracts.cases import CaseFields
from proctor_contracts.endpoint import HttpEndpoint, SecretRef, placeholders
from proctor_contracts.enums import Provider

from .model import SuiteHeader
from .problems import Path, suggestion

__all__ = ["doubts", "missing_values", "unknown_critical"]

_SPOKEN = frozenset({"message", "messages"})


def doubts(header: SuiteHeader, cases: Sequence[CaseFields]) -> Iterator[tuple[Path, str]]:
    """Find a bot that is never told what the user says, and critical names that no case has."""
    bot = header.integration
    if bot.provider is Provider.HTTP and bot.endpoint is not None and not _spoken(bot.endpoint):
        text = "holds neither {{message}} nor {{messages}}, so the bot is never told what the user says"
        yield ("integration", "endpoint", "body"), text
    if header.gate is not None:
        named = header.gate.critical
        known = {case.category for case in cases} | {tag for case in cases for tag in case.tags}
        for name in unknown_critical(named, known):
            text = f"no case has the tag or category {name!r}; {suggestion(name, known)}"
            yield ("gate", "critical", named.index(name)), text


def unknown_critical(named: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """Give the names that are no case's tag or category, so that they guard nothing."""
    return tuple(dict.fromkeys(name for name in named if name not in known))


def missing_values(header: SuiteHeader, env: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    """Find keys and secrets that a run in this process would miss, each with the variable to set."""
    bot = header.integration
    provider = header.run.provider or bot.provider
    if bot.endpoint is not None and provider is Provider.HTTP:
        secrets = Secrets(environ=env, embedded=True, redactor=Redactor())
        for name, value in bot.endpoint.headers.items():
            if isinstance(value, SecretRef) and secrets.find(value.secret) is None:
                yield ("integration", "endpoint", "headers", name), secrets.how_to_set(value.secret)
    asked: list[tuple[Path, Provider]] = []
    # A compatible endpoint of one's own (Ollama, vLLM) often asks for no key.
    if provider is not Provider.OPENAI or bot.endpoint is None:
        asked.append((("integration", "provider"), provider))
    if header.judge is not None:
        asked.append((("judge", "provider"), header.judge.provider))
    for place, model in asked:
        variable = f"{model.upper()}_API_KEY"
        if model in _KEYED and not env.get(variable):
            yield place, f"no API key for {model}: set {variable}"


_KEYED = frozenset({Provider.ANTHROPIC, Provider.GROQ, Provider.OPENAI})


def _spoken(endpoint: HttpEndpoint) -> bool:
    texts = [value for value in endpoint.headers.values() if isinstance(value, str)]
    return any(not _SPOKEN.isdisjoint(placeholders(text)) for text in (*texts, *_strings(endpoint.body)))


def _strings(value: Json) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from _strings(item)
        case list():
            for item in value:
                yield from _strings(item)
        case _:
            return
