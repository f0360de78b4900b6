"""Plays one attempt of a case from job to fact: loop, grading, limits, and every failure as a named error."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from typing import Protocol, assert_never

from proctor_chassis.clock import Clock
from proctor_contracts.endpoint import HttpEndpoint
from proctor_contracts.enums import Blame, Provider, Runner
from proctor_contracts.messages import CaseExecuted, CaseRequested
from proctor_contracts.results import AssertionResult, CaseError
from proctor_contracts.weather import parse_weather
from proctor_grading.context import GradingContext, LanguageDetector, RegexEngine
from proctor_llm.client import LlmClient
from proctor_llm.errors import LlmError, LlmErrorCode
from proctor_llm.prices import Prices
from proctor_llm.replies import clean_text
from proctor_llm.worst_case import call_cost

from .checks import problem
from .fitting import fitted
from .gateway.calls import ToolCalls
from .gateway.tools import Toolbox
from .gateway.weather import Sky
from .gateway.webhook import HandlerCaller
from .grader import Grader
from .loops.allowance import Allowance
from .loops.gateway import GatewayConversation
from .loops.scripted import play_scripted
from .recording import Recording
from .redaction import Redaction, redacted

__all__ = ["Attempts", "ModelSource"]

_log = logging.getLogger(__name__)


_rng = random.Random()


def _new_conversation() -> str:
    """Name a conversation: new for every play, since a bot may remember what a lost worker told it."""
    return f"{_rng.getrandbits(128):032x}"


class ModelSource(Protocol):
    """Gives the client of a provider; shared by every conversation of the process."""

    @property
    def prices(self) -> Prices:
        """What tokens cost."""
        ...

    def client(self, provider: Provider, endpoint: HttpEndpoint | None = None) -> LlmClient:
        """Give a client; raises LlmError when something has to be set first."""
        ...


class Attempts:
    """Plays attempts; keeps nothing between them, so any worker can play any job."""

    def __init__(
        self,
        *,
        models: ModelSource,
        handlers: HandlerCaller,
        grader: Grader,
        regex: RegexEngine,
        languages: LanguageDetector | None,
        redactor: Redaction,
        clock: Clock,
        worker_id: str,
        guard_seconds: float = 1.0,
        conversation_id: Callable[[], str] = _new_conversation,
    ) -> None:
        """Wire it; `guard_seconds` after the deadline a call that does not keep it is cut off."""
        self._models = models
        self._handlers = handlers
        self._grader = grader
        self._regex = regex
        self._languages = languages
        self._redactor = redactor
        self._clock = clock
        self._worker_id = worker_id
        self._guard_seconds = guard_seconds
        self._conversation_id = conversation_id

    async def play(self, job: CaseRequested) -> CaseExecuted:
        """Play a job; whatever goes wrong with agent, provider or set-up is an error in the fact."""
        began, started_at = self._clock.monotonic(), self._clock.now()
        recording = Recording(now=self._clock.now)
        error = problem(job) or await self._converse(job, recording)
        results: tuple[AssertionResult, ...] = ()
        if error is None:
            graded = await self._grader.grade(job.case, recording.entries, self._context(job, recording))
            results = recording.explained(graded)
        fact = CaseExecuted(
            run_id=job.run_id,
            result_id=job.result_id,
            case_id=job.case.id,
            trial=job.trial,
            attempt=job.attempt,
            transcript=tuple(recording.entries),
            assertion_results=results,
            outcomes=recording.outcomes,
            effects=tuple(recording.effects or ()),
            weather=job.weather,
            error=error,
            usage=recording.spending.usage,
            cost_micro_usd=recording.spending.cost_micro_usd,
            duration_ms=round((self._clock.monotonic() - began) * 1000),
            started_at=started_at,
            finished_at=self._clock.now(),
            logs=tuple(recording.logs),
            worker_id=self._worker_id,
            agent_model=recording.model,
            agent_fingerprint=recording.fingerprint,
            model_calls=recording.spending.calls,
        )
        return fitted(redacted(fact, self._redactor))

    async def _converse(self, job: CaseRequested, recording: Recording) -> CaseError | None:
        agent = job.agent
        loop = asyncio.get_running_loop()
        deadline = loop.time() + job.timeout_ms / 1000
        try:
            async with asyncio.timeout_at(deadline + self._guard_seconds):
                client = self._models.client(agent.provider, agent.endpoint)
                match job.runner:
                    case Runner.SCRIPTED:
                        return await play_scripted(
                            job.case.input,
                            agent=agent,
                            client=client,
                            conversation_id=self._conversation_id(),
                            deadline=deadline,
                            recording=recording,
                            allowance=self._allowance(job),
                        )
                    case Runner.GATEWAY:
                        return await self._with_tools(job, client, recording, deadline=deadline)
                    case _:
                        assert_never(job.runner)
        except TimeoutError:
            recording.spending.lost()
            return _timed_out(job)
        except LlmError as error:
            if error.code is LlmErrorCode.TIMEOUT and loop.time() >= deadline:
                return _timed_out(job)
            return CaseError(code=error.code, message=clean_text(error.message), blame=error.blame)
        except Exception as error:  # noqa: BLE001 - it would fail on every redelivery, so the case ends here
            _log.exception("runner.loop_crashed", extra={"job": job.id()})
            return CaseError(
                code="runner_crashed",
                message=f"the runner failed in mid-case ({type(error).__name__}); its log says more",
                blame=Blame.INFRASTRUCTURE,
            )

    async def _with_tools(
        self, job: CaseRequested, client: LlmClient, recording: Recording, *, deadline: float
    ) -> CaseError | None:
        agent = job.agent
        tools = Toolbox(agent.handlers)
        weather = None if job.weather is None else parse_weather(job.weather)
        calls = ToolCalls(
            tools=tools,
            handlers=self._handlers,
            integration=agent.integration_name,
            dry_run=job.dry_run,
            sky=Sky(weather, text=job.weather or "", seed=job.seed),
        )
        recording.effects = calls.effects
        conversation = GatewayConversation(
            agent=agent,
            client=client,
            tools=tools,
            calls=calls,
            conversation_id=self._conversation_id(),
            deadline=deadline,
            recording=recording,
            allowance=self._allowance(job),
            needs_handlers=job.on_tool_error == "error",
        )
        try:
            return await conversation.play(job.case.input)
        finally:
            recording.logs.extend(calls.notes)

    def _allowance(self, job: CaseRequested) -> Allowance | None:
        if job.budget_micro_usd is None:
            return None
        agent, prices = job.agent, self._models.prices

        def cost(prompt_tokens: int) -> int | None:
            return call_cost(
                prices,
                agent.provider,
                agent.model or "",
                prompt_tokens=prompt_tokens,
                max_tokens=agent.max_tokens,
            )

        return Allowance(job.budget_micro_usd, cost)

    def _context(self, job: CaseRequested, recording: Recording) -> GradingContext:
        agent = job.agent
        # The gateway makes the calls itself; anybody else has to report them with every reply.
        captured = job.runner is Runner.GATEWAY or (recording.tools_captured and recording.replies > 0)
        asked = agent.endpoint is not None and agent.endpoint.tool_calls_path is not None
        missing = "tools_not_reported" if asked else "no_tool_capture"
        return GradingContext(
            regex=self._regex,
            prompt=agent.prompt,
            tools_captured=captured,
            tools_missing_reason=None if captured else missing,
            outcomes=recording.outcomes,
            cost_micro_usd=recording.spending.cost_micro_usd,
            usage=None if recording.spending.tokens is None else recording.spending.usage,
            languages=self._languages,
            effects=recording.effects,
        )


def _timed_out(job: CaseRequested) -> CaseError:
    return CaseError(
        code="case_timeout",
        message=f"the case took longer than its {job.timeout_ms} ms: the agent is slow or the timeout short",
        blame=Blame.AGENT,
    )
