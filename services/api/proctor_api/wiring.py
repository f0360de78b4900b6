"""Every use case of the API, put together once for both ways in: HTTP, and calls inside the process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import datetime
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
from .usecases.agents import Agents
from .usecases.bite import Biting
from .usecases.bulk import CaseBulk
from .usecases.captures import Captures
from .usecases.case_files import CaseFiles
from .usecases.cases import Cases
from .usecases.compare_rounds import CompareRounds
from .usecases.compares import Compares
from .usecases.exports import Exports
from .usecases.feed import Feed
from .usecases.handlers import Handlers
from .usecases.imports import Imports
from .usecases.integrations import Integrations
from .usecases.keys import Keys
from .usecases.meta import MetaModel, NoMeta
from .usecases.packs import Packs
from .usecases.replay import Replay
from .usecases.results import Results
from .usecases.run_drafting import RunDrafter
from .usecases.run_writing import RunWriter
from .usecases.runs import Runs
from .usecases.stability import CaseHistories
from .usecases.text_imports import TextImports
from .usecases.validation import CaseChecks, examiner
from .usecases.variants import Variants
from .usecases.versions import Versions

if TYPE_CHECKING:  # read only where somebody imports cases
    from proctor_casefiles.categories import CategoryTable

__all__ = ["Services", "build_services"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What the API can do."""

    database: Database
    authenticator: Authenticator
    accounts: Accounts
    keys: Keys
    integrations: Integrations
    handlers: Handlers
    cases: Cases
    bulk: CaseBulk
    histories: CaseHistories
    biting: Biting
    imports: Imports
    text_imports: TextImports
    case_files: CaseFiles
    packs: Packs
    captures: Captures
    replay: Replay
    runs: Runs
    agents: Agents
    versions: Versions
    variants: Variants
    compares: Compares
    rounds: CompareRounds
    results: Results
    exports: Exports
    feed: Feed


def build_services(
    *,
    database: Database,
    clock: Callable[[], datetime],
    monotonic: Callable[[], float],
    settler: Settler,
    hub: Hub,
    announce: Callable[[RunCancelled], Awaitable[None]],
    prices: Prices,
    judge: JudgeSettings | None,
    pools: Sequence[str],
    regex: RegexEngine,
    executor: Executor,
    languages: LanguageDetector | None = None,
    meta: MetaModel | None = None,
    pool_by_provider: Mapping[Provider, str] | None = None,
    categories: CategoryTable | None = None,
) -> Services:
    """Put the use cases together; `executor` is the one thread on which `regex` may be used.

    Without `meta`, what asks a model for drafts answers with none and says so. `pool_by_provider` says which
    pool plays a provider's cells of comparisons, if not the default one. `categories` are the usual checks of
    cases by category, instead of those that Proctor brings.
    """
    checks = CaseChecks(executor=executor, examine=examiner(regex=regex, languages=languages))
    authenticator = Authenticator(database=database, clock=clock, monotonic=monotonic)
    results = Results(database=database, clock=clock)
    writer = RunWriter(settler=settler, clock=clock, prices=prices)
    drafter = RunDrafter(judge=judge, pools=pools)
    runs = Runs(
        database=database,
        settler=settler,
        announce=announce,
        clock=clock,
        writer=writer,
        drafter=drafter,
    )
    imports = Imports(database=database, clock=clock, checks=checks, categories=categories)
    return Services(
        database=database,
        authenticator=authenticator,
        accounts=Accounts(database=database, clock=clock),
        keys=Keys(database=database, clock=clock, revoked=authenticator.forget),
        integrations=Integrations(database=database, clock=clock),
        handlers=Handlers(database=database, clock=clock),
        cases=Cases(database=database, clock=clock, checks=checks),
        bulk=CaseBulk(database=database, clock=clock, checks=checks),
        histories=CaseHistories(database=database),
        runs=runs,
        agents=Agents(database=database, clock=clock),
        versions=Versions(database=database, clock=clock),
        variants=Variants(database=database, clock=clock, meta=meta),
        compares=Compares(
            database=database,
            clock=clock,
            writer=writer,
            drafter=drafter,
            runs=runs,
            pools=pool_by_provider or {},
        ),
        rounds=CompareRounds(database=database, clock=clock, writer=writer),
        biting=Biting(database=database, executor=executor, regex=regex, languages=languages),
        imports=imports,
        text_imports=TextImports(imports=imports),
        case_files=CaseFiles(database=database),
        packs=Packs(database=database, clock=clock, checks=checks),
        captures=Captures(database=database, clock=clock),
        replay=Replay(database=database, clock=clock, checks=checks, meta=meta or NoMeta()),
        results=results,
        exports=Exports(results=results),
        feed=Feed(database=database, hub=hub, clock=clock, monotonic=monotonic),
    )
