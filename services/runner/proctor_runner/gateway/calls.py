"""The tool calls of one conversation: made, answered by the twin, or struck by weather; all of them noted."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from proctor_contracts.base import Json
from proctor_contracts.effects import Action, Effect
from proctor_contracts.transcript import ToolCallRecord
from proctor_contracts.weather import Fault
from proctor_llm.replies import clean_text
from proctor_llm.types import ToolResult, ToolUse

from .effects import key_of
from .outcome import Failure, Outcome
from .tools import Tool, Toolbox
from .twin import DRY_RUN, Memory, Patched, answer_read, answer_write
from .weather import Sky, changed, failure
from .webhook import HandlerCaller

__all__ = ["ToolCalls"]

_NAMED = 40
"""How many tools a model is reminded of when it calls one that does not exist."""

_BAD_ARGUMENTS = Failure(
    "invalid_arguments",
    "the model wrote arguments that are no JSON object; the handler was not called",
    "the arguments are not a JSON object; call the tool again with one",
)


class ToolCalls:
    """Answers what the model asks for.

    `effects` is the ledger of writes so far, `notes` what a reader of the result should know, `unreachable`
    the last handler that could not be reached at all.
    """

    def __init__(
        self, *, tools: Toolbox, handlers: HandlerCaller, integration: str, dry_run: bool, sky: Sky
    ) -> None:
        self._tools = tools
        self._handlers = handlers
        self._integration = integration
        self._dry_run = dry_run
        self._sky = sky
        self._memory = Memory()
        self._first: dict[str, Json] = {}
        self._count = 0
        self.effects: list[Effect] = []
        self.notes: list[str] = []
        self.unreachable: str | None = None

    async def call(self, use: ToolUse, *, turn: int, deadline: float) -> tuple[ToolCallRecord, ToolResult]:
        """Answer one call: what the transcript keeps of it, and what the model is told."""
        clock = asyncio.get_running_loop().time
        began = clock()
        self._count += 1
        tool = self._tools.find(use.name)
        if tool is None:
            outcome = self._unknown(use.name)
        elif use.args is None:
            outcome = Outcome(failure=_BAD_ARGUMENTS)
        else:
            outcome = await self._weathered(tool, use.args, turn=turn, deadline=deadline)
        name = clean_text(use.name)
        record = ToolCallRecord(
            id=use.id,
            name=name,
            args=use.args,
            args_raw=use.args_raw,
            result=outcome.result,
            duration_ms=round((clock() - began) * 1000),
            dry_run=outcome.dry_run,
            error=None if outcome.failure is None else outcome.failure.recorded,
        )
        return record, ToolResult(use.id, name, outcome.content, is_error=outcome.failed)

    async def _weathered(
        self, tool: Tool, args: Mapping[str, Json], *, turn: int, deadline: float
    ) -> Outcome:
        sky, name = self._sky, tool.handler.name
        fault = sky.over(name)
        planted = failure(fault, seed=sky.seed, text=sky.text)
        if planted is not None:
            outcome = Outcome(failure=planted, dry_run=self._dry_run and tool.guarded)
            self._note_write(tool, args, outcome, turn=turn)
            return outcome
        outcome = await self._answered(tool, args, turn=turn, deadline=deadline)
        if outcome.failed:
            return outcome
        first = self._first.get(name)
        self._first.setdefault(name, outcome.result)
        if fault is Fault.OK:
            return outcome
        return changed(fault, outcome, first=first, seed=sky.seed, text=sky.text)

    async def _answered(self, tool: Tool, args: Mapping[str, Json], *, turn: int, deadline: float) -> Outcome:
        if self._dry_run and tool.guarded:
            return self._by_twin(tool, args, turn=turn)
        if self._dry_run and not tool.writes:
            known = self._memory.find(tool.effect.entity, key_of(tool.effect, args))
            if known is not None:
                real = await self._real(tool, args, deadline) if isinstance(known, Patched) else None
                below = None if real is None or real.failed else real.result
                return Outcome(result=answer_read(known, real=below), dry_run=True)
        outcome = await self._real(tool, args, deadline)
        self._note_write(tool, args, outcome, turn=turn)
        return outcome

    async def _real(self, tool: Tool, args: Mapping[str, Json], deadline: float) -> Outcome:
        handler = tool.handler
        outcome = await self._handlers.call(handler, args, integration=self._integration, deadline=deadline)
        if outcome.failure is not None and outcome.failure.unreachable:
            self.unreachable = f"{handler.name}: {outcome.failure.recorded}"
        return outcome

    def _by_twin(self, tool: Tool, args: Mapping[str, Json], *, turn: int) -> Outcome:
        name, effect = tool.handler.name, tool.effect
        if tool.writes:
            written = answer_write(effect, args, self._memory)
            self._write(tool, args, turn=turn, key=written.key, record=written.record, dry_run=True)
            return Outcome(result=written.answer, dry_run=True)
        known = self._memory.find(effect.entity, key_of(effect, args))
        if known is not None:
            return Outcome(result=answer_read(known), dry_run=True)
        if tool.handler.is_side_effect is None:
            self._note(
                f"{name} was not called, since a dry run calls no handler whose isSideEffect is unset; "
                "set it to false if it only reads"
            )
        return Outcome(result={DRY_RUN: True, "message": "not called in a dry run"}, dry_run=True)

    def _note_write(self, tool: Tool, args: Mapping[str, Json], outcome: Outcome, *, turn: int) -> None:
        """Put a write that was tried for real, or that weather kept from being tried, into the ledger."""
        if not tool.writes:
            return
        result = outcome.result if isinstance(outcome.result, dict) and not outcome.failed else None
        key = key_of(tool.effect, args) or (key_of(tool.effect, result) if result is not None else None)
        gone = outcome.failed or tool.effect.action is Action.DELETE
        record = None if gone else result if result is not None else dict(args)
        self._write(
            tool, args, turn=turn, key=key, record=record, dry_run=outcome.dry_run, failed=outcome.failed
        )

    def _write(
        self,
        tool: Tool,
        args: Mapping[str, Json],
        *,
        turn: int,
        key: str | None,
        record: Json,
        dry_run: bool,
        failed: bool = False,
    ) -> None:
        self.effects.append(
            Effect(
                entity=tool.effect.entity,
                action=tool.effect.action,
                key=key,
                data=dict(args),
                record=record,
                tool=tool.handler.name,
                turn=turn,
                call=self._count,
                dry_run=dry_run,
                failed=failed,
            )
        )

    def _unknown(self, name: str) -> Outcome:
        known = ", ".join(self._tools.names[:_NAMED]) or "none"
        said = f"there is no tool {clean_text(name)}; the tools are: {known}"
        return Outcome(failure=Failure("unknown_tool", "the integration has no such handler", said))

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)
