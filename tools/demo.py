"""`make demo`: run the support bot's suite and check that exactly its two known faults were found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["failing_refs", "main", "verdict"]

EXAMPLE = Path("examples/support-bot")
KNOWN_FAULTS = frozenset({"late-compensation", "language-brands"})
GATE_FAILED = 1


def main() -> int:
    """Run the demo; 0 exactly when `proctor run` ended with 1 because of the two known faults alone."""
    proctor = Path(sys.executable).with_name("proctor")
    with bot() as url, tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [str(proctor), "run", str(EXAMPLE / "suite.yaml"), "--report", f"json={report}"]
        print(f"The bot answers at {url}\n$ proctor run {EXAMPLE}/suite.yaml\n", flush=True)
        code = subprocess.run(command, env=_environment(url), check=False).returncode
        document = json.loads(report.read_text(encoding="utf-8")) if report.exists() else None
    problem = verdict(code, document)
    if problem is not None:
        sys.stderr.write(f"\nThe demo did not go as it should: {problem}\n")
        return 1
    print(
        f"\n`proctor run` ended with exit code {code}: its gate asks for every case, and the bot has two"
        f" known faults.\nThe suite found exactly these: {', '.join(sorted(KNOWN_FAULTS))}."
        f" {EXAMPLE}/README.md says what they are."
    )
    return 0


def verdict(code: int, document: Any) -> str | None:
    """What went differently from the plan, or None; `code` and `document` are those of `proctor run`."""
    if code != GATE_FAILED:
        return f"`proctor run` ended with {code}, not {GATE_FAILED}"
    if document is None:
        return "`proctor run` wrote no report"
    found = failing_refs(document)
    if missed := KNOWN_FAULTS - found:
        return f"known faults that were not found: {', '.join(sorted(missed))}"
    if more := found - KNOWN_FAULTS:
        return f"cases that should have passed: {', '.join(sorted(more))}"
    return None


def failing_refs(document: Any) -> set[str]:
    """The refs of all results in a JSON report that are anything but passed."""
    return {result["caseRef"] for result in document["results"] if result["status"] != "passed"}


def _environment(bot_url: str) -> dict[str, str]:
    """The caller's environment, but with nothing that leads to another server."""
    elsewhere = {"PROCTOR_SERVER", "PROCTOR_API_KEY", "PROCTOR_STATE"}
    kept = {name: value for name, value in os.environ.items() if name not in elsewhere}
    return kept | {"BOT_URL": bot_url}


@contextmanager
def bot() -> Iterator[str]:
    """The bot on a free port; yields its address once it serves."""
    command = [sys.executable, str(EXAMPLE / "bot.py"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            url = process.stdout.readline().strip() if process.stdout else ""
            if not url:
                raise SystemExit("the bot did not start")
            yield url
        finally:
            process.terminate()


if __name__ == "__main__":
    sys.exit(main())
