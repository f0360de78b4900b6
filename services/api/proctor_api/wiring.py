"""Every use case of the API, put together once for both ways in: HTTP, and calls inside the process.

What every run needs is made at once; the rest is imported and made when it is first asked for, since one
command plays its run and ends, and every module that it does not need is a part of its second.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from proctor_contracts.agents import JudgeSettings
from proctor_contracts.enums import Provider
from proctor_contracts.messages import RunCancelled
from proctor_grading.context import LanguageDetector, RegexEngine
from proctor_llm.prices import Prices
from proctor_store.session import Database

from .auth import Authenticator
from .pipeline.hub import Hub
from .pipeline.settle import Settler
from .usecases.accounts import Accounts
from .usecases.bulk import CaseBulk
from .usecases.cases import Cases
from .usecases.exports import Exports
from .usecases.feed import Feed
from .usecases.handlers import Handlers
from .usecases.integrations import Integrations
from .usecases.results import Results
from .usecases.run_drafting import RunDrafter
from .usecases.run_writing import RunWriter
from .usecases.runs import Runs
from .usecases.validation import CaseChecks, examiner

if TYPE_CHECKING:
    from proctor_casefiles.categories import CategoryTable

    from .usecases.agents import Agents
    from .usecases.alerts import Alerts
    from .usecases.bite import Biting
    from .usecases.captures import Captures
    from .usecases.case_files import CaseFiles
    from .usecases.compare_rounds import CompareRounds
    from .usecases.compares import Compares
    from .usecases.confirmations import Confirmations
    from .usecases.firings import Firings
    from .usecases.imports import Imports
    from .usecases.keys import Keys
    from .usecases.meta import MetaModel
    from .usecases.packs import Packs
    from .usecases.replay import Replay
    from .usecases.schedules import Schedules
    from .usecases.stability import CaseHistories
    from .usecases.text_imports import TextImports
    from .usecases.variants import Variants
    from .usecases.versions import Versions

__all__ = ["Foundations", "Services"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Foundations:
    """What the use cases stand on; `executor` is the one thread on which `regex` may be used.

    Without `meta`, what asks a model for drafts answers with none and says so. `pool_by_provider` says which
    pool plays a provider's cells of comparisons, if not the default one. `categories` are the usual checks of
    cases by category, instead of those that Proctor brings.
    """

    database: Database
    clock: Callable[[], datetime]
    monotonic: Callable[[], float]
    settler: Settler
    hub: Hub
    announce: Callable[[RunCancelled], Awaitable[None]]
    prices: Prices
    judge: JudgeSettings | None
    pools: Sequence[str]
    regex: RegexEngine
    executor: Executor
    languages: LanguageDetector | None = None
    meta: MetaModel | None = None
    pool_by_provider: Mapping[Provider, str] | None = None
    categories: CategoryTable | None = None


class Services:
    """What the API can do."""

    def __init__(self, base: Foundations) -> None:
        self._base = base
        self.database = database = base.database
        clock = base.clock
        self._checks = CaseChecks(
            executor=base.executor, examine=examiner(regex=base.regex, languages=base.languages)
        )
        self._writer = RunWriter(settler=base.settler, clock=clock, prices=base.prices)
        self._drafter = RunDrafter(judge=base.judge, pools=base.pools)
        self.authenticator = Authenticator(database=database, clock=clock, monotonic=base.monotonic)
        self.accounts = Accounts(database=database, clock=clock)
        self.integrations = Integrations(database=database, clock=clock)
        self.handlers = Handlers(database=database, clock=clock)
        self.cases = Cases(database=database, clock=clock, checks=self._checks)
        self.bulk = CaseBulk(database=database, clock=clock, checks=self._checks)
        self.runs = Runs(
            database=database,
            settler=base.settler,
            announce=base.announce,
            clock=clock,
            writer=self._writer,
            drafter=self._drafter,
        )
        self.results = Results(database=database, clock=clock)
        self.exports = Exports(results=self.results)
        self.feed = Feed(database=database, hub=base.hub, clock=clock, monotonic=base.monotonic)

    @cached_property
    def keys(self) -> Keys:
        """API keys of an account."""
        from .usecases.keys import Keys

        return Keys(database=self.database, clock=self._base.clock, revoked=self.authenticator.forget)

    @cached_property
    def histories(self) -> CaseHistories:
        """How steady cases are over runs."""
        from .usecases.stability import CaseHistories

        return CaseHistories(database=self.database)

    @cached_property
    def biting(self) -> Biting:
        """Whether the assertions of a suite would notice a fault."""
        from .usecases.bite import Biting

        base = self._base
        return Biting(
            database=self.database, executor=base.executor, regex=base.regex, languages=base.languages
        )

    @cached_property
    def imports(self) -> Imports:
        """Cases from workbooks."""
        from .usecases.imports import Imports

        base = self._base
        return Imports(
            database=self.database, clock=base.clock, checks=self._checks, categories=base.categories
        )

    @cached_property
    def text_imports(self) -> TextImports:
        """Cases from text files of other tools."""
        from .usecases.text_imports import TextImports

        return TextImports(imports=self.imports)

    @cached_property
    def case_files(self) -> CaseFiles:
        """Cases written as workbooks."""
        from .usecases.case_files import CaseFiles

        return CaseFiles(database=self.database)

    @cached_property
    def packs(self) -> Packs:
        """Packs of attacks."""
        from .usecases.packs import Packs

        return Packs(database=self.database, clock=self._base.clock, checks=self._checks)

    @cached_property
    def captures(self) -> Captures:
        """Conversations from production."""
        from .usecases.captures import Captures

        return Captures(database=self.database, clock=self._base.clock)

    @cached_property
    def replay(self) -> Replay:
        """Transcripts turned into cases."""
        from .usecases.meta import NoMeta
        from .usecases.replay import Replay

        base = self._base
        return Replay(
            database=self.database, clock=base.clock, checks=self._checks, meta=base.meta or NoMeta()
        )

    @cached_property
    def agents(self) -> Agents:
        """The agent of an integration."""
        from .usecases.agents import Agents

        return Agents(database=self.database, clock=self._base.clock)

    @cached_property
    def versions(self) -> Versions:
        """Versions of an agent's prompt."""
        from .usecases.versions import Versions

        return Versions(database=self.database, clock=self._base.clock)

    @cached_property
    def variants(self) -> Variants:
        """Drafts of prompts by a model."""
        from .usecases.variants import Variants

        return Variants(database=self.database, clock=self._base.clock, meta=self._base.meta)

    @cached_property
    def compares(self) -> Compares:
        """Comparisons of prompts and models."""
        from .usecases.compares import Compares

        base = self._base
        return Compares(
            database=self.database,
            clock=base.clock,
            writer=self._writer,
            drafter=self._drafter,
            runs=self.runs,
            pools=base.pool_by_provider or {},
        )

    @cached_property
    def rounds(self) -> CompareRounds:
        """Rounds of comparisons that go on until they are decided."""
        from .usecases.compare_rounds import CompareRounds

        return CompareRounds(database=self.database, clock=self._base.clock, writer=self._writer)

    @cached_property
    def confirmations(self) -> Confirmations:
        """Reruns that confirm what a look at a run suspects."""
        from .usecases.confirmations import Confirmations

        return Confirmations(database=self.database, clock=self._base.clock, writer=self._writer)

    @cached_property
    def schedules(self) -> Schedules:
        """Runs on a clock."""
        from .usecases.schedules import Schedules

        return Schedules(database=self.database, clock=self._base.clock, drafter=self._drafter)

    @cached_property
    def alerts(self) -> Alerts:
        """What was told of runs, and to whom."""
        from .usecases.alerts import Alerts

        return Alerts(database=self.database, clock=self._base.clock)

    @cached_property
    def firings(self) -> Firings:
        """Runs that schedules start."""
        from .usecases.firings import Firings

        return Firings(
            database=self.database, clock=self._base.clock, writer=self._writer, drafter=self._drafter
        )
