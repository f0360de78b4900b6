"""JavaScript regular expressions through quickjs-ng, with limits on time, memory and text."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any

from .context import RegexAnswer, RegexEngine, RegexFound, RegexInvalid, RegexLimit, RegexMissing
from .text import nfc, storable

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FLAGS", "PatientRegex", "QuickJsRegex", "pasted_slashes"]

FLAGS = "dgimsuvy"
TEXT_LIMIT = 100_000
PATTERN_LIMIT = 2_000
FIRST_LIMIT = 0.1
SECOND_LIMIT = 0.5
MEMORY_LIMIT = 64 << 20
PATIENCE = 3
TIMEOUT = "regex_timeout"

# The engine counts the CPU time of the whole process, so two evaluations at once would eat each other's time.
_one_at_a_time = threading.Lock()

# Compiling costs far more than matching, so patterns are kept until their classes such as \p{L}, which take
# up to 12 kB each, might fill a third of the memory. With the flags g and y a kept one would start where its
# last match ended.
_SEARCH = r"""(() => {
  const kept = new Map();
  let weight = 0;
  return (pattern, flags, text) => {
    const key = flags + "/" + pattern;
    let regexp = kept.get(key);
    if (regexp === undefined) {
      regexp = new RegExp(pattern, flags);
      const added = 1 + pattern.split(/\\p/i).length;
      if (weight + added > 2000) {
        kept.clear();
        weight = 0;
      }
      kept.set(key, regexp);
      weight += added;
    }
    regexp.lastIndex = 0;
    const found = regexp.exec(text);
    return found === null ? "" : found.index + "," + found[0].length;
  };
})()"""
_COMPILE = "(pattern, flags) => { new RegExp(pattern, flags); return true; }"
_PASTED = re.compile(r"/.+/[dgimsuvy]+", re.DOTALL)


def pasted_slashes(pattern: str) -> bool:
    """Whether a pattern looks like a whole JavaScript literal, `/…/i`; its slashes would match as text."""
    return _PASTED.fullmatch(pattern) is not None


class QuickJsRegex:
    """A `RegexEngine` with JavaScript's own semantics.

    Pattern and text are composed to NFC, lone surrogates become U+FFFD, and text beyond 100,000 characters is
    not read. An evaluation gets 100 ms of CPU; interrupted, it runs once more in a fresh context with 500 ms,
    so that a busy process is not mistaken for a slow pattern. Every thread has its own context; use one
    dedicated thread.
    """

    def __init__(self) -> None:
        self._local = threading.local()

    def search(self, pattern: str, flags: str, text: str) -> RegexAnswer:
        """Look for a pattern; never raises for what the pattern or the text holds."""
        pattern, text = storable(nfc(pattern)), storable(nfc(text))
        cut = text[:TEXT_LIMIT] if len(text) > TEXT_LIMIT else text
        with _one_at_a_time:
            answer = self._evaluate(pattern, flags, cut)
        if isinstance(answer, RegexMissing) and cut is not text:
            return RegexLimit(
                "text_too_long", f"not found in the first {TEXT_LIMIT} characters, the rest was not read"
            )
        return answer

    def problem(self, pattern: str, flags: str = "") -> str | None:
        """Say why a pattern or its flags cannot be used, with the fault's position; None when they can."""
        if reason := _bad_flags(flags):
            return reason
        if len(pattern) > PATTERN_LIMIT:
            return f"the pattern is longer than {PATTERN_LIMIT} characters"
        if pasted_slashes(pattern):
            body, _, given = pattern[1:].rpartition("/")
            return (
                f"the pattern is written with its slashes, which would be matched as text; "
                f'write pattern "{body}" and flags "{given}"'
            )
        pattern = storable(nfc(pattern))
        with _one_at_a_time:
            reason = self._compile_error(pattern, flags)
            if reason is None:
                return None
            position = self._fault_position(pattern, flags)
        near = pattern[position : position + 12]
        return f"{reason} at position {position}" + (f' (near "{near}")' if near else " (the end)")

    def _evaluate(self, pattern: str, flags: str, text: str) -> RegexAnswer:
        try:
            found = self._functions(FIRST_LIMIT)[0](pattern, flags, text)
        except Exception as error:  # noqa: BLE001 - the engine's own exception, imported lazily with it
            if not _limit_hit(error):
                return RegexInvalid(_reason(error))
            self._drop()
            try:
                found = self._functions(SECOND_LIMIT)[0](pattern, flags, text)
            except Exception as again:  # noqa: BLE001 - as above
                if not _limit_hit(again):
                    return RegexInvalid(_reason(again))
                return RegexLimit(TIMEOUT, "the pattern needed too much time or memory on this text")
            finally:
                self._drop()
        return _found(found, text)

    def _compile_error(self, pattern: str, flags: str) -> str | None:
        try:
            self._functions(FIRST_LIMIT)[1](pattern, flags)
        except Exception as error:  # noqa: BLE001 - the engine's own exception, imported lazily with it
            if not _limit_hit(error):
                return _reason(error)
            self._drop()
            try:  # what is kept of other patterns must not be this one's fault
                self._functions(FIRST_LIMIT)[1](pattern, flags)
            except Exception as again:  # noqa: BLE001 - as above
                self._drop()
                return _reason(again)
        return None

    def _fault_position(self, pattern: str, flags: str) -> int:
        """Find the longest start of the pattern that compiles once its open groups and classes are closed."""
        closers, opened = _closers(pattern)
        for end in range(len(pattern), -1, -1):
            if self._compile_error(pattern[:end] + closers[end], flags) is None:
                return opened if end == len(pattern) else end
        return 0

    def _functions(self, limit: float) -> tuple[Callable[..., str], Callable[..., bool]]:
        functions: tuple[Callable[..., str], Callable[..., bool]] | None
        functions = getattr(self._local, "functions", None)
        if functions is None:
            # The package's own wrapper starts a thread on import; the extension module does not.
            import _quickjs  # type: ignore[import-not-found]  # noqa: PLC0415 - untyped; loaded with the first pattern

            context: Any = _quickjs.Context()
            context.set_memory_limit(MEMORY_LIMIT)
            context.set_time_limit(limit)
            functions = (context.eval(_SEARCH), context.eval(_COMPILE))
            self._local.context, self._local.functions = context, functions
        return functions

    def _drop(self) -> None:
        self._local.__dict__.clear()


class PatientRegex:
    """A `RegexEngine` for one grading that gives up after a few patterns have used up their time.

    Patterns of all attempts share one thread, so a case full of slow ones must not hold up the others.
    """

    def __init__(self, engine: RegexEngine) -> None:
        self._engine = engine
        self._left = PATIENCE

    def search(self, pattern: str, flags: str, text: str) -> RegexAnswer:
        """Look for a pattern in a text."""
        if self._left == 0:
            return RegexLimit(TIMEOUT, "not tried: too many patterns before it needed too much time")
        answer = self._engine.search(pattern, flags, text)
        if isinstance(answer, RegexLimit) and answer.code == TIMEOUT:
            self._left -= 1
        return answer

    def problem(self, pattern: str, flags: str = "") -> str | None:
        """Say why a pattern cannot be saved, or None when it can."""
        return self._engine.problem(pattern, flags)


def _bad_flags(flags: str) -> str | None:
    for flag in flags:
        if flag not in FLAGS:
            return f'unknown flag "{flag}"; the flags are {", ".join(FLAGS)}'
        if flags.count(flag) > 1:
            return f'the flag "{flag}" is given twice'
    if "u" in flags and "v" in flags:
        return "the flags u and v cannot be used together"
    return None


def _limit_hit(error: Exception) -> bool:
    """Whether the engine gave up: interrupted, out of memory or out of stack."""
    said = str(error)
    return not said.startswith("SyntaxError") or "out of memory" in said


def _reason(error: Exception) -> str:
    return str(error).partition("\n")[0].removeprefix("SyntaxError: ")


def _found(answer: str, text: str) -> RegexAnswer:
    """Turn the engine's UTF-16 offsets into characters."""
    if not answer:
        return RegexMissing()
    start, length = map(int, answer.split(","))
    if text.isascii() or max(text) <= "\uffff":
        return RegexFound(start, text[start : start + length])
    units = text.encode("utf-16-le")
    before = units[: 2 * start].decode("utf-16-le", "replace")
    return RegexFound(len(before), units[2 * start : 2 * (start + length)].decode("utf-16-le", "replace"))


def _closers(pattern: str) -> tuple[list[str], int]:
    """For each start of the pattern, what closes it; and where the last thing left open was opened."""
    closers, groups, in_class, class_at, escaped = [""], [], False, 0, False
    for index, char in enumerate(pattern):
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif in_class:
            in_class = char != "]"
        elif char == "[":
            in_class, class_at = True, index
        elif char == "(":
            groups.append(index)
        elif char == ")" and groups:
            groups.pop()
        closers.append(("]" if in_class else "") + ")" * len(groups))
    opened = class_at if in_class else groups[-1] if groups else len(pattern)
    return closers, opened
