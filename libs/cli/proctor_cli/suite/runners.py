"""What a suite's runner can do, and what it cannot; pure."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from proctor_contracts.enums import Provider, Runner
from proctor_contracts.weather import parse_weather

from .model import SuiteHeader
from .problems import Path

__all__ = ["runner_doubts", "runner_faults"]


def runner_faults(header: SuiteHeader) -> Iterator[tuple[Path, str]]:
    """Find what the platform would refuse: tools for a bot that has its own, faults in tools not called."""
    run = header.run
    provider = run.provider or header.integration.provider
    if run.runner is Runner.GATEWAY and not provider.takes_tools:
        known = ", ".join(sorted(one for one in Provider if one.takes_tools))
        yield (
            ("run", "runner"),
            f"gateway gives a model the handlers as tools, which {provider} has no way to; use {known}",
        )
    if run.runner is Runner.SCRIPTED:
        asked = {"weather": bool(run.weather), "onToolError": run.on_tool_error != "continue"}
        for field, present in asked.items():
            if present:
                message = "has no meaning with runner scripted, which calls no tools; use runner: gateway"
                yield ("run", field), message


def runner_doubts(header: SuiteHeader) -> Iterator[tuple[Path, str]]:
    """Find what a run would do for nothing: no tools at all, or weather that strikes none of them."""
    run = header.run
    if run.runner is not Runner.GATEWAY:
        return
    names = [handler.name for handler in header.integration.handlers]
    if not names:
        yield (
            ("run", "runner"),
            "the integration has no handlers, so there is no tool that the model could call",
        )
        return
    for place, text in enumerate(run.weather):
        glob = parse_weather(text).tool
        if not any(fnmatchcase(name, glob) for name in names):
            known = ", ".join(sorted(names)[:20])
            yield (
                ("run", "weather", place),
                f"strikes nothing: no handler is called {glob}; there are {known}",
            )
