"""`${NAME}` and `${NAME:-default}` in the integration's settings.

Values land in the stored integration, so this is for addresses and model names. A secret is named instead:
`headers: {Authorization: {secret: BOT_TOKEN}}` keeps it out of files, rows, logs and reports.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .problems import Path

__all__ = ["expand", "secrets_by_value"]

_VARIABLE = re.compile(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_SECRET_HEADER = re.compile(r"authorization|cookie|token|secret|key|password", re.IGNORECASE)


class _Unset(Exception):
    pass


def expand(value: Any, env: Mapping[str, str], path: Path, faults: list[tuple[Path, str]]) -> Any:
    """Replace variables in every string of a value; a variable that is not set is added to `faults`.

    `$${` stands for a literal `${`.
    """
    match value:
        case str():
            try:
                return _VARIABLE.sub(lambda match: _value(match, env), value)
            except _Unset as unset:
                name = unset.args[0]
                faults.append((path, f"${{{name}}} is not set; set it, or give a default: ${{{name}:-…}}"))
                return value
        case list():
            return [expand(item, env, (*path, index), faults) for index, item in enumerate(value)]
        case dict():
            return {key: expand(item, env, (*path, key), faults) for key, item in value.items()}
        case _:
            return value


def _value(match: re.Match[str], env: Mapping[str, str]) -> str:
    name, default = match.groups()
    if name is None:
        return "${"
    found = env.get(name)
    if found:
        return found
    if default is not None:
        return str(default)
    raise _Unset(name)


def secrets_by_value(integration: Any) -> Iterator[tuple[Path, str]]:
    """Find headers that look secret and would be stored by value."""
    endpoint = integration.get("endpoint") if isinstance(integration, dict) else None
    headers = endpoint.get("headers") if isinstance(endpoint, dict) else None
    if not isinstance(headers, dict):
        return
    for name, text in headers.items():
        if isinstance(text, str) and _SECRET_HEADER.search(name) and "{{" not in text:
            advice = "is stored as it is and seen by everyone who sees the suite or the integration"
            yield ("integration", "endpoint", "headers", name), f"{advice}; name the secret: {{secret: NAME}}"
