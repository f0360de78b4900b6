"""Write requirements/*.txt: exact versions, no addresses, one file for each way to install Proctor."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["main"]

REPOSITORY = Path(__file__).resolve().parents[1]
FOLDER = REPOSITORY / "requirements"
# `dev` comes first: it holds everything, so the other files take their versions from it.
EXTRAS = {
    "dev": "dev",
    "embedded": "",
    "api": "api",
    "runner": "runner",
    "judge": "judge",
    "scheduler": "scheduler",
    "alerter": "alerter",
    "server": "server",
}


def main() -> int:
    """Resolve each set of dependencies with pip itself and write the pins."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        constraints = Path(scratch) / "constraints.txt"
        constraints.write_text("")
        for name, extra in EXTRAS.items():
            pins = _resolve(extra, constraints, Path(scratch) / "report.json")
            if name == "dev":
                constraints.write_text("\n".join(pins))
            title = f"# What proctor[{extra}] needs" if extra else "# What `proctor run` needs"
            header = f"{title}, pinned. Written by `make lock`; change pyproject.toml instead.\n"
            (FOLDER / f"{name}.txt").write_text(header + "".join(f"{pin}\n" for pin in pins))
            sys.stdout.write(f"requirements/{name}.txt: {len(pins)} packages\n")
    return 0


def _resolve(extra: str, constraints: Path, report: Path) -> list[str]:
    target = f"{REPOSITORY}[{extra}]" if extra else str(REPOSITORY)
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "-qq"]
    subprocess.run([*command, "--constraint", constraints, "--report", report, target], check=True)
    found = json.loads(report.read_text())["install"]
    names = {re.sub(r"[-_.]+", "-", item["metadata"]["name"]).lower(): item for item in found}
    return sorted(
        f"{name}=={item['metadata']['version']}" for name, item in names.items() if name != "proctor"
    )


if __name__ == "__main__":
    sys.exit(main())
