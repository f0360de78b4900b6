"""One vote: asking a judge model until its answer can be read, and never reading more into it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from proctor_contracts.agents import JudgeSettings
from proctor_contracts.results import JudgeVote
from proctor_contracts.transcript import TranscriptEntry
from proctor_grading.judge import ERROR_VOTE, JudgeCode, JudgeProblem, JudgeReply, parse_judge_reply, vote
from proctor_llm.client import LlmClient
from proctor_llm.errors import LlmError, LlmErrorCode
from proctor_llm.fence import new_nonce
from proctor_llm.prices import Prices
from proctor_llm.replies import clean_text
from proctor_llm.spending import Spending
from proctor_llm.types import ChatMessage, ChatRequest, Completion, Finish
from proctor_llm.worst_case import call_cost, tokens_at_most

from .prompts import GRADE_TOOL, SYSTEM, user_text
from .purse import Purse

__all__ = [
    "FIRST_REPLY_TOKENS",
    "LARGER_REPLY_TOKENS",
    "MAX_TRIES",
    "Manners",
    "Question",
    "Voter",
    "read_reply",
]

MAX_TRIES = 3
FIRST_REPLY_TOKENS = 2_048
LARGER_REPLY_TOKENS = 4_096
_SCHEMA_TOKENS = 1_000
_RAW_CHARACTERS = 2_000
_REASONING_CHARACTERS = 4_000
_QUOTES = 10
_QUOTE_CHARACTERS = 500
_UNREAD = {
    LlmErrorCode.TRUNCATED_TOOL_CALL: JudgeCode.TRUNCATED,
    LlmErrorCode.EMPTY_REPLY: JudgeCode.UNPARSEABLE,
}
"""Errors of a call that are answers which cannot be read, so that asking again may help."""


@dataclass(frozen=True, slots=True)
class Question:
    """One criterion about one transcript; `lines` is the transcript as the prompt carries it."""

    criterion: str
    context: str | None
    transcript: Sequence[TranscriptEntry]
    lines: str


@dataclass(frozen=True, slots=True)
class Unread:
    """An answer without a verdict that could be read, and what it said."""

    problem: JudgeProblem
    raw: str = ""


@dataclass(slots=True)
class Manners:
    """What a model was found not to accept; learned from its refusals and kept for the next calls."""

    temperature: bool = True
    forced_tool: bool = True

    def learn(self, error: LlmError) -> bool:
        """Take a refusal as a lesson; False when it teaches nothing new."""
        if error.code is not LlmErrorCode.BAD_REQUEST:
            return False
        said = error.message.casefold()
        if self.temperature and "temperature" in said:
            self.temperature = False
            return True
        if self.forced_tool and "tool" in said:
            self.forced_tool = False
            return True
        return False


class Voter:
    """Casts the votes of one judging; `model` and `fingerprint` are what the provider last said it was."""

    def __init__(
        self,
        *,
        settings: JudgeSettings,
        client: LlmClient,
        prices: Prices,
        manners: Manners,
        spending: Spending,
        purse: Purse,
        rng: random.Random,
        conversation_id: str,
        deadline: float,
    ) -> None:
        self._settings = settings
        self._client = client
        self._prices = prices
        self.manners = manners
        self._spending = spending
        self._purse = purse
        self._rng = rng
        self._conversation_id = conversation_id
        self.deadline = deadline
        self.model: str | None = None
        self.fingerprint: str | None = None

    async def vote(self, question: Question) -> JudgeVote:
        """Ask up to three times; what still cannot be read is an error vote with the raw answer."""
        cap = FIRST_REPLY_TOKENS
        unread = Unread(JudgeProblem(JudgeCode.UNPARSEABLE, "the judge was not asked"))
        for tried in range(MAX_TRIES):
            outcome = await self._once(question, cap=cap, again=tried > 0)
            if isinstance(outcome, JudgeVote):
                return outcome
            unread = outcome
            if unread.problem.code is JudgeCode.TRUNCATED:
                if cap == LARGER_REPLY_TOKENS:
                    break
                cap = LARGER_REPLY_TOKENS
        return error_vote(unread.problem.code, unread.problem.message, model=self.model, raw=unread.raw)

    async def _once(self, question: Question, *, cap: int, again: bool) -> JudgeVote | Unread:
        nonce = new_nonce(self._rng, question.lines)
        try:
            answer = await self._ask(question, nonce=nonce, cap=cap, again=again)
        except LlmError as error:
            code = _UNREAD.get(error.code)
            if code is None:
                return error_vote(error.code, error.message, model=self.model)
            return Unread(JudgeProblem(code, clean_text(error.message)))
        if answer is None:
            message = "the judge's share of the budget is used up; raise budgetCents"
            return error_vote("budget_exhausted", message, model=self.model)
        if answer.finish in {Finish.REFUSAL, Finish.CONTENT_FILTER}:
            message = f"the judge model refused to answer ({answer.finish})"
            return error_vote("judge_refused", message, model=self.model, raw=_raw(answer))
        reply = read_reply(answer, nonce)
        if isinstance(reply, JudgeProblem):
            return Unread(reply, _raw(answer))
        return _short(vote(reply, question.transcript, model=self.model))

    async def _ask(self, question: Question, *, nonce: str, cap: int, again: bool) -> Completion | None:
        """Send one request; None when it does not fit the budget. Adapts to what the model refuses."""
        text = user_text(
            criterion=question.criterion,
            context=question.context,
            lines=question.lines,
            nonce=nonce,
            again=again,
        )
        request = ChatRequest(
            model=self._settings.model,
            system=SYSTEM,
            messages=(ChatMessage("user", text),),
            conversation_id=self._conversation_id,
            tools=(GRADE_TOOL,),
            force_tool=GRADE_TOOL.name,
            max_tokens=cap,
            temperature=0.0,
        )
        while True:
            polite = replace(
                request,
                temperature=0.0 if self.manners.temperature else None,
                tools=request.tools if self.manners.forced_tool else (),
                force_tool=request.force_tool if self.manners.forced_tool else None,
            )
            worst = call_cost(
                self._prices,
                self._settings.provider,
                self._settings.model,
                prompt_tokens=tokens_at_most(SYSTEM) + tokens_at_most(text) + _SCHEMA_TOKENS,
                max_tokens=cap,
            )
            if not self._purse.take(worst):
                return None
            try:
                answer = await self._client.complete(polite, deadline=self.deadline)
            except LlmError as error:
                free = error.usage is None and error.cost_micro_usd is None
                self._purse.settle(worst, 0 if free else error.cost_micro_usd)
                self._spending.failed(error)
                if not self.manners.learn(error):
                    raise
            else:
                self._purse.settle(worst, answer.cost_micro_usd)
                self._spending.replied(answer)
                self.model = answer.model or self.model
                self.fingerprint = answer.fingerprint or self.fingerprint
                return answer


def read_reply(answer: Completion, nonce: str) -> JudgeReply | JudgeProblem:
    """Read an answer's tool calls, whatever the tool's name, or else its text; all of them must agree."""
    cut = answer.finish in {Finish.LENGTH, Finish.INCOMPLETE}
    if not answer.tool_uses:
        return parse_judge_reply(None, answer.text, nonce, truncated=cut)
    read: JudgeReply | JudgeProblem | None = None
    for use in answer.tool_uses:
        reply = parse_judge_reply(use.args, use.args_raw, nonce, truncated=cut)
        if isinstance(reply, JudgeProblem):
            return reply
        if isinstance(read, JudgeReply) and read.verdict is not reply.verdict:
            return JudgeProblem(JudgeCode.CONFLICT, "the tool calls hold different verdicts")
        read = reply
    return read or JudgeProblem(JudgeCode.UNPARSEABLE, "the answer holds no verdict")


def error_vote(code: str, message: str, *, model: str | None = None, raw: str | None = None) -> JudgeVote:
    """Make the vote of a judge that gave no verdict."""
    return JudgeVote(
        verdict=ERROR_VOTE, error=code, reasoning=clean_text(message), model=model, raw=raw or None
    )


def _raw(answer: Completion) -> str:
    uses = "\n".join(use.args_raw for use in answer.tool_uses)
    return clean_text("\n".join(filter(None, (answer.text, uses))))[:_RAW_CHARACTERS]


def _short(cast: JudgeVote) -> JudgeVote:
    evidence = tuple(
        one
        if len(one.quote) <= _QUOTE_CHARACTERS
        else one.model_copy(update={"quote": one.quote[:_QUOTE_CHARACTERS]})
        for one in cast.evidence[:_QUOTES]
    )
    return cast.model_copy(update={"evidence": evidence, "reasoning": cast.reasoning[:_REASONING_CHARACTERS]})
