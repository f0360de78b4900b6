"""What the API is told by its environment."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from proctor_chassis.settings import BusSettings, DatabaseSettings, HttpSettings, LogSettings, SettingsError
from proctor_contracts.agents import JudgeSettings
from proctor_contracts.enums import Provider
from proctor_contracts.topology import FIXED_POOLS

if TYPE_CHECKING:  # read only where somebody imports cases
    from proctor_casefiles.categories import CategoryTable

__all__ = ["ApiSettings", "categories_from_env", "judge_from_env"]

PORT = 8080
_TRUE, _FALSE = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off"})
_VOTES = {"": 1, "1": 1, "3": 3, "5": 5}
_MOST_CONNECTIONS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSettings:
    """One API process: where it answers, what it talks to, which judge runs have that name none."""

    http: HttpSettings
    logs: LogSettings
    bus: BusSettings
    database: DatabaseSettings
    judge: JudgeSettings | None = None
    categories: CategoryTable | None = None
    auto_migrate: bool = True
    transaction_pooler: bool = False
    pool_size: int = 10
    owner: str = field(default_factory=socket.gethostname)

    @property
    def pools(self) -> tuple[str, ...]:
        """Every pool that has a queue."""
        return tuple(dict.fromkeys((*FIXED_POOLS, *self.bus.pools)))

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Self:
        """Read the chassis' variables, and PROCTOR_JUDGE_PROVIDER, _MODEL and _VOTES, PROCTOR_AUTO_MIGRATE,
        PROCTOR_TRANSACTION_POOLER, PROCTOR_DATABASE_CONNECTIONS and PROCTOR_CASE_CATEGORIES.

        Raises:
            SettingsError: naming the variable that is missing or wrong.
        """  # noqa: D205 - one sentence, two lines
        return cls(
            http=HttpSettings.from_env(env, port=PORT),
            logs=LogSettings.from_env(env),
            bus=BusSettings.from_env(env).required(),
            database=DatabaseSettings.from_env(env).required(),
            judge=judge_from_env(env),
            categories=categories_from_env(env),
            auto_migrate=_flag(env, "PROCTOR_AUTO_MIGRATE", default=True),
            transaction_pooler=_flag(env, "PROCTOR_TRANSACTION_POOLER", default=False),
            pool_size=_connections(env),
        )


def judge_from_env(env: Mapping[str, str]) -> JudgeSettings | None:
    """Read the judge for runs that name none; None when nothing is set.

    Raises:
        SettingsError: when only half of it is set, or a value is unknown.
    """
    provider = env.get("PROCTOR_JUDGE_PROVIDER", "").strip().lower()
    model = env.get("PROCTOR_JUDGE_MODEL", "").strip()
    if not provider and not model:
        return None
    if not provider or not model:
        missing = "PROCTOR_JUDGE_MODEL" if provider else "PROCTOR_JUDGE_PROVIDER"
        raise SettingsError(f"{missing} is not set; a judge needs provider and model")
    known = [one.value for one in Provider if one is not Provider.HTTP]
    if provider not in known:
        raise SettingsError(f"PROCTOR_JUDGE_PROVIDER: {provider!r} is not one of {', '.join(known)}")
    votes = _VOTES.get(env.get("PROCTOR_JUDGE_VOTES", "").strip())
    if votes is None:
        raise SettingsError("PROCTOR_JUDGE_VOTES: should be 1, 3 or 5")
    return JudgeSettings.model_validate({"provider": provider, "model": model, "votes": votes})


def categories_from_env(env: Mapping[str, str]) -> CategoryTable | None:
    """Read the table of usual checks that PROCTOR_CASE_CATEGORIES names; None when it names none.

    Raises:
        SettingsError: when the file cannot be read or is no such table.
    """
    path = env.get("PROCTOR_CASE_CATEGORIES", "").strip()
    if not path:
        return None
    from proctor_casefiles.categories import read_categories  # noqa: PLC0415 - only where one is named

    try:
        return read_categories(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        raise SettingsError(f"PROCTOR_CASE_CATEGORIES: {path}: {error}") from error


def _flag(env: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = env.get(name, "").strip().lower()
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    if text:
        raise SettingsError(f"{name}: {text!r} is not yes or no")
    return default


def _connections(env: Mapping[str, str]) -> int:
    text = env.get("PROCTOR_DATABASE_CONNECTIONS", "").strip() or "10"
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= _MOST_CONNECTIONS):
        raise SettingsError(
            f"PROCTOR_DATABASE_CONNECTIONS: {text!r} is not a whole number from 1 to {_MOST_CONNECTIONS}"
        )
    return int(text)
