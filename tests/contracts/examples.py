"""One full example of everything that goes over the bus."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from proctor_contracts.agents import AgentSnapshot, HandlerSnapshot, JudgeSettings
from proctor_contracts.alerts import CategoryChange
from proctor_contracts.assertions import Contains, Judge, Regex, ToolCall
from proctor_contracts.captures import CapturedEntry
from proctor_contracts.cases import CaseBudget, CaseSnapshot, ScriptedMessage, ScriptedMulti
from proctor_contracts.effects import Action, Effect, HandlerEffect
from proctor_contracts.endpoint import HttpEndpoint
from proctor_contracts.enums import Blame, CaptureSource, Priority, Provider, Role, RunStatus, Trigger
from proctor_contracts.messages import (
    CaptureRecorded,
    CaseExecuted,
    CaseJudged,
    CaseRequested,
    JudgeCriterion,
    JudgeRequested,
    LiveEvent,
    LiveHint,
    Message,
    RegressionDetected,
    RunCancelled,
    RunCompleted,
    ScheduleFired,
    Transient,
    WorkerHeartbeat,
)
from proctor_contracts.results import AssertionResult, CaseError, Evidence, JudgeVote, Verdict, Where
from proctor_contracts.summary import GroupSummary, RunSummary
from proctor_contracts.transcript import ToolCallRecord, TranscriptEntry, Usage
from proctor_contracts.verdicts import RegressionVerdict

__all__ = ["EXAMPLES"]

AT = datetime(2026, 3, 14, 9, 26, 53, 589_000, tzinfo=UTC)
RUN, ACCOUNT, RESULT, CASE, INTEGRATION = (
    UUID(f"018f6b1e-0000-7000-8000-00000000000{n}") for n in range(1, 6)
)
USAGE = Usage(prompt_tokens=812, cached_prompt_tokens=400, cache_write_tokens=12, completion_tokens=96)
TRANSCRIPT = (
    TranscriptEntry(role=Role.TESTER, content="З мене двічі зняли гроші 😡", timestamp=AT, turn=1),
    TranscriptEntry(
        role=Role.AGENT,
        content="Перевірив: рахунок INV-17 сплачено двічі, повертаємо 129,00 ₴.",
        timestamp=AT + timedelta(seconds=2),
        turn=1,
        latency_ms=1840,
        ttft_ms=310,
        usage=USAGE,
        finish="stop",
        tool_calls=(
            ToolCallRecord(
                id="call_1",
                name="lookup_invoices",
                args={"customer": "c-42", "paid": True},
                args_raw='{"customer": "c-42", "paid": true}',
                result=[{"id": "INV-17", "amount": 129.0}],
                duration_ms=41,
            ),
        ),
    ),
)
JUDGE = JudgeSettings(provider=Provider.ANTHROPIC, model="claude-sonnet", votes=3)
CRITERION = Judge(ref="empathy", rubric="The agent apologises for the double charge.", weight=2)

EXAMPLES: dict[str, Message | Transient] = {
    "case.requested": CaseRequested(
        run_id=RUN,
        account_id=ACCOUNT,
        result_id=RESULT,
        trial=2,
        attempt=3,
        pool="high",
        case=CaseSnapshot(
            id=CASE,
            revision=4,
            ref="billing-double-charge",
            name="Подвійне списання",
            category="Оплата",
            priority=Priority.HIGH,
            input=ScriptedMulti(messages=(ScriptedMessage(content="З мене двічі зняли гроші 😡"),)),
            assertions=(
                Regex(pattern="вибач|перепрош", flags="i", ref="sorry"),
                Contains(value="INV-17", required=True),
                ToolCall(tool_name="lookup_invoices", args_regex={"customer": "c-42"}),
                CRITERION,
            ),
            rubric="Polite and exact.",
            weight=5,
            threshold=80,
            tags=("money", "angry"),
            critical=True,
            budget=CaseBudget(max_latency_ms=8000, max_cost_cents=2.5, max_tokens=4000, max_tool_calls=3),
        ),
        agent=AgentSnapshot(
            integration_id=INTEGRATION,
            integration_name="Підтримка",
            provider=Provider.HTTP,
            model="support-bot-7",
            prompt="Ти — агент підтримки.",
            endpoint=HttpEndpoint(
                url="http://bot.internal:8900/chat",
                body={"message": "{{message}}", "conversationId": "{{conversationId}}"},
                reply_path="$.answer",
                tool_calls_path="$.tools",
                outcome_paths={"department": "$.department"},
            ),
            handlers=(
                HandlerSnapshot(
                    id=UUID(int=6),
                    name="створити_повернення",
                    description="Creates a refund ticket",
                    url="/refunds",
                    parameters_schema={"type": "object", "properties": {"invoice": {"type": "string"}}},
                    is_side_effect=True,
                    effect=HandlerEffect(entity="refund", action=Action.CREATE, key="invoice"),
                ),
            ),
            temperature=0.2,
        ),
        dry_run=False,
        timeout_ms=90_000,
        budget_micro_usd=25_000,
        on_tool_error="error",
        weather="timeout@2:lookup_*",
        seed="billing-double-charge|1|timeout@2:lookup_*",
    ),
    "judge.requested": JudgeRequested(
        run_id=RUN,
        account_id=ACCOUNT,
        result_id=RESULT,
        case_id=CASE,
        trial=2,
        attempt=3,
        case_name="Подвійне списання",
        context="Polite and exact.",
        critical=True,
        criteria=(JudgeCriterion(index=3, assertion=CRITERION),),
        transcript=TRANSCRIPT,
        judge=JUDGE,
        agent_provider="http",
        agent_model="support-bot-7",
        timeout_ms=90_000,
        budget_micro_usd=9_000,
    ),
    "case.executed": CaseExecuted(
        run_id=RUN,
        result_id=RESULT,
        case_id=CASE,
        trial=2,
        attempt=3,
        transcript=TRANSCRIPT,
        assertion_results=(
            AssertionResult(
                index=0,
                kind="regex",
                ref="sorry",
                verdict=Verdict.FAILED,
                passed=False,
                code="no_match",
                message="no agent message matches",
                expected="/вибач|перепрош/i",
                seen="Перевірив: рахунок…",
                where=Where(entry=1, excerpt="Перевірив: рахунок…"),
            ),
            AssertionResult(index=3, kind="judge", ref="empathy", weight=2, verdict=Verdict.PENDING),
        ),
        outcomes={"department": "billing"},
        effects=(
            Effect(
                entity="refund",
                action=Action.CREATE,
                key="INV-17",
                data={"invoice": "INV-17"},
                record={"id": "dry-refund-1", "invoice": "INV-17"},
                tool="створити_повернення",
                turn=1,
                call=2,
                failed=True,
            ),
        ),
        weather="timeout@2:lookup_*",
        error=CaseError(code="timeout", message="the agent did not answer in 90 s", blame=Blame.AGENT),
        usage=USAGE,
        cost_micro_usd=3_165,
        duration_ms=2_104,
        started_at=AT,
        finished_at=AT + timedelta(seconds=2, milliseconds=104),
        logs=("tried again after 429",),
        worker_id="runner-a-17",
        agent_model="support-bot-7",
        agent_fingerprint="fp_1",
        model_calls=2,
    ),
    "case.judged": CaseJudged(
        run_id=RUN,
        result_id=RESULT,
        case_id=CASE,
        trial=2,
        attempt=3,
        assertion_results=(
            AssertionResult(
                index=3,
                kind="judge",
                ref="empathy",
                weight=2,
                verdict=Verdict.PASSED,
                passed=True,
                score=1.0,
                notes=("needs_review",),
                votes=(
                    JudgeVote(
                        verdict="pass",
                        basis="said",
                        reasoning="It confirms the refund.",
                        evidence=(Evidence(turn=1, quote="повертаємо 129,00 ₴", verified=True),),
                        injection_attempt=True,
                        model="claude-sonnet",
                    ),
                ),
            ),
        ),
        usage=USAGE,
        cost_micro_usd=None,
        duration_ms=900,
        finished_at=AT + timedelta(seconds=4),
        logs=("one vote was read twice",),
        worker_id="judge-b-3",
        judge_model="claude-sonnet",
        judge_fingerprint="fp_2",
        model_calls=3,
    ),
    "capture.recorded": CaptureRecorded(
        integration_id=INTEGRATION,
        source=CaptureSource.SOFA,
        external_id="chat-2026-03-14-abc",
        transcript=tuple(CapturedEntry(**dict(entry)) for entry in TRANSCRIPT),
        metadata={"userId": "u-42", "model": "claude-sonnet", "tokensIn": 150},
        tags=("production", "flagged-by-operator"),
        flagged_reason="Бот не передав розмову людині, коли йшлося про гроші",
    ),
    "run.completed": RunCompleted(
        run_id=RUN,
        account_id=ACCOUNT,
        integration_id=INTEGRATION,
        status=RunStatus.COMPLETED,
        trigger=Trigger.CI_CD,
        compare_run_id=UUID(int=7),
        prompt_overridden=True,
        schedule_id=UUID(int=8),
        confirms_run_id=UUID(int=9),
        completed_at=AT + timedelta(minutes=3),
        summary=RunSummary(
            total=3,
            passed=1,
            failed=1,
            error=1,
            cases=3,
            pass_rate=0.5,
            pass_rate_after_retries=0.5,
            pass_rate_ci95=(0.0945, 0.9055),
            first_attempt_passed=1,
            first_attempt_failed=1,
            avg_score=62.5,
            scored=2,
            by_category={
                "Оплата": GroupSummary(total=3, passed=1, failed=1, error=1, avg_score=62.5, scored=2)
            },
            usage=USAGE,
            cost_cents=0.63,
            duration_ms=180_000,
            latency_p50_ms=1840,
            latency_p95_ms=2600,
            critical_failed=("billing-double-charge",),
            errors_by_code={"timeout": 1},
        ),
    ),
    "schedule.fired": ScheduleFired(
        account_id=UUID(int=5),
        schedule_id=UUID(int=8),
        tick_id=UUID(int=10),
        planned_at=AT,
        fire=1,
    ),
    "regression.detected": RegressionDetected(
        run_id=RUN,
        account_id=UUID(int=5),
        integration_id=UUID(int=6),
        verdict=RegressionVerdict.SUSPECTED,
        categories=(
            CategoryChange(
                category="Мова",
                current_avg=72,
                baseline_avg=91,
                delta_points=19,
                verdict=RegressionVerdict.SUSPECTED,
                p_value=0.0625,
                n=5,
                runs_used=7,
                note="a rerun was asked for",
            ),
        ),
        confirm=("Мова",),
        trials=3,
        confirmed_by=UUID(int=11),
    ),
    "run.cancelled": RunCancelled(run_ids=(RUN, UUID(int=9)), worker_id="runner-a-17"),
    "worker.heartbeat": WorkerHeartbeat(
        worker_id="runner-a-17",
        service="runner",
        pool="high",
        concurrency=16,
        in_flight=(f"{RUN}:{CASE}:2:3",),
        starting=True,
        at=AT,
    ),
    "live.hint": LiveHint(run_id=RUN, seq=17),
    "live.event": LiveEvent(run_id=RUN, event="case.started", data={"caseId": str(CASE), "trial": 2}),
}
