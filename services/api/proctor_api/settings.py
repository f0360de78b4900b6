"""What the API is told by its environment."""

from __future__ import annotations

import socket
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from proctor_chassis.egress import Operator
from proctor_chassis.settings import (
    BusSettings,
    DatabaseSettings,
    HttpSettings,
    LogSettings,
    SettingsError,
    flag,
)
from proctor_contracts.agents import JudgeSettings
from proctor_contracts.enums import Provider
from proctor_contracts.topology import FIXED_POOLS
from proctor_llm.settings import LlmSettings

if TYPE_CHECKING:  # read only where somebody imports cases, or by a server
    from proctor_casefiles.categories import CategoryTable

    from .retention.settings import RetentionSettings

__all__ = ["ApiSettings", "categories_from_env", "judge_from_env"]

PORT = 8080
_VOTES = {"": 1, "1": 1, "3": 3, "5": 5}


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaSettings:
    """The model that drafts cases and prompts."""

    provider: Provider
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSettings:
    """One API process: where it answers, what it talks to, which judge runs have that name none."""

    http: HttpSettings
    logs: LogSettings
    bus: BusSettings
    database: DatabaseSettings
    judge: JudgeSettings | None = None
    meta: MetaSettings | None = None
    llm: LlmSettings = field(default_factory=LlmSettings)
    egress: Operator = field(default_factory=Operator)
    categories: CategoryTable | None = None
    auto_migrate: bool = True
    pool_by_provider: Mapping[Provider, str] = field(default_factory=dict)
    owner: str = field(default_factory=socket.gethostname)
    retention: RetentionSettings | None = None

    @property
    def pools(self) -> tuple[str, ...]:
        """Every pool that has a queue."""
        return tuple(dict.fromkeys((*FIXED_POOLS, *self.bus.pools)))

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Self:
        """Read the chassis' and the adapters' variables, those of judge_from_env, meta_from_env,
        categories_from_env and RetentionSettings, PROCTOR_AUTO_MIGRATE, PROCTOR_TRANSACTION_POOLER,
        PROCTOR_DATABASE_CONNECTIONS and PROCTOR_POOL_BY_PROVIDER.

        Raises:
            SettingsError: naming the variable that is missing or wrong.
        """  # noqa: D205 - one sentence, two lines
        from .retention.settings import RetentionSettings  # noqa: PLC0415 - only a server keeps and deletes

        try:
            llm = LlmSettings.from_environ(env)
        except ValueError as error:
            raise SettingsError(str(error)) from error
        try:
            egress = Operator.from_environ(env, embedded=False)
        except ValueError as error:
            raise SettingsError(f"PROCTOR_EGRESS_ALLOW: {error}") from error
        bus = BusSettings.from_env(env).required()
        return cls(
            http=HttpSettings.from_env(env, port=PORT),
            logs=LogSettings.from_env(env),
            bus=bus,
            database=DatabaseSettings.from_env(env).required(),
            judge=judge_from_env(env),
            meta=meta_from_env(env),
            llm=llm,
            egress=egress,
            categories=categories_from_env(env),
            auto_migrate=flag(env, "PROCTOR_AUTO_MIGRATE", default=True),
            pool_by_provider=_pool_by_provider(env, (*FIXED_POOLS, *bus.pools)),
            retention=RetentionSettings.from_env(env, rules=egress),
        )


def judge_from_env(env: Mapping[str, str]) -> JudgeSettings | None:
    """Read PROCTOR_JUDGE_PROVIDER, _MODEL and _VOTES: the judge of runs that name none; None when not set.

    Raises:
        SettingsError: when only half of it is set, or a value is unknown.
    """
    named = _model(env, "PROCTOR_JUDGE_PROVIDER", "PROCTOR_JUDGE_MODEL", "a judge")
    if named is None:
        return None
    votes = _VOTES.get(env.get("PROCTOR_JUDGE_VOTES", "").strip())
    if votes is None:
        raise SettingsError("PROCTOR_JUDGE_VOTES: should be 1, 3 or 5")
    return JudgeSettings.model_validate({"provider": named[0], "model": named[1], "votes": votes})


def meta_from_env(env: Mapping[str, str]) -> MetaSettings | None:
    """Read PROCTOR_META_PROVIDER and _MODEL, which draft cases and prompts; the judge's when not set.

    Raises:
        SettingsError: when only half of it is set, or the provider is unknown.
    """
    named = _model(env, "PROCTOR_META_PROVIDER", "PROCTOR_META_MODEL", "a meta model")
    if named is None:
        named = _model(env, "PROCTOR_JUDGE_PROVIDER", "PROCTOR_JUDGE_MODEL", "a judge")
    return None if named is None else MetaSettings(provider=named[0], model=named[1])


def _model(
    env: Mapping[str, str], provider_name: str, model_name: str, what: str
) -> tuple[Provider, str] | None:
    provider = env.get(provider_name, "").strip().lower()
    model = env.get(model_name, "").strip()
    if not provider and not model:
        return None
    if not provider or not model:
        raise SettingsError(
            f"{model_name if provider else provider_name} is not set; {what} needs provider and model"
        )
    known = [one.value for one in Provider if one is not Provider.HTTP]
    if provider not in known:
        raise SettingsError(f"{provider_name}: {provider!r} is not one of {', '.join(known)}")
    return Provider(provider), model


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


def _pool_by_provider(env: Mapping[str, str], known: Collection[str]) -> Mapping[Provider, str]:
    """Read `openai=fast,anthropic=high`."""
    name = "PROCTOR_POOL_BY_PROVIDER"
    found: dict[Provider, str] = {}
    for part in filter(None, (part.strip() for part in env.get(name, "").split(","))):
        provider, _, pool = (side.strip() for side in part.partition("="))
        if provider not in set(Provider):
            raise SettingsError(f"{name}: {provider!r} is not one of {', '.join(Provider)}")
        if pool not in known:
            cure = f"known are {', '.join(known)}; name it in PROCTOR_POOLS"
            raise SettingsError(f"{name}: there is no pool {pool!r}; {cure}")
        found[Provider(provider)] = pool
    return found
