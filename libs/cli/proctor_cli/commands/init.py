"""`proctor init`: a first suite that runs as it is."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import click

from proctor_cli.context import Context, pass_context
from proctor_cli.exits import ExitCode, Stop

__all__ = ["command"]


@click.command("init", short_help="Write a small suite that runs as it is.")
@click.argument("folder", default=".", type=click.Path(file_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Write over files that are there.")
@pass_context
def command(context: Context, *, folder: Path, force: bool) -> int:
    """Write a suite and its recorded bot into FOLDER (default: here)."""
    files = dict(_starter(resources.files("proctor_cli") / "starter", Path()))
    taken = [str(folder / name) for name in files if (folder / name).exists()]
    if taken and not force:
        raise Stop(ExitCode.USAGE, f"{', '.join(taken)} is there already; choose another folder, or --force")
    for name, content in files.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        except OSError as error:
            raise Stop(ExitCode.USAGE, f"cannot write {path}: {error.strerror or error}") from error
        context.screen.say(f"wrote {path}")
    context.screen.show(f"run it with: proctor run {folder / 'suite.yaml'}")
    return ExitCode.PASSED


def _starter(folder: Traversable, inside: Path) -> list[tuple[Path, bytes]]:
    found: list[tuple[Path, bytes]] = []
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.is_dir():
            found += _starter(item, inside / item.name)
        else:
            found.append((inside / item.name, item.read_bytes()))
    return found
