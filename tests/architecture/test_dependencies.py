from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import packages_distributions

import pytest

from tests.support.repository import ROOT, packages, project

SERVICES = ("api", "runner", "judge", "scheduler", "alerter")
PIN = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*==[0-9][0-9a-z.+!]*")

# Imports every module of some packages while only the named third-party modules can be imported.
FENCE = """
import importlib, pkgutil, sys

class Fence:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in BANNED:
            raise ModuleNotFoundError(f"{name} is not among the requirements", name=name)
        return None

BANNED = set(sys.argv[1].split(","))
sys.meta_path.insert(0, Fence())
for package in sys.argv[2].split(","):
    root = importlib.import_module(package)
    for module in pkgutil.walk_packages(root.__path__, package + "."):
        if ".migrations" not in module.name:
            importlib.import_module(module.name)
"""


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / f"requirements/{name}.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def outside(requirements: str) -> set[str]:
    """The installed third-party modules that these requirements do not bring."""
    allowed = set(pins(requirements))
    return {
        module
        for module, distributions in packages_distributions().items()
        if not allowed.intersection(normal(name) for name in distributions)
        and not module.startswith(("proctor", "_"))
        and module not in sys.stdlib_module_names
    }


def imported_within(requirements: str, *names: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", FENCE, ",".join(outside(requirements)), ",".join(names)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.stderr


@pytest.mark.parametrize("path", sorted((ROOT / "requirements").glob("*.txt")), ids=lambda path: path.stem)
def test_requirements_are_exact_and_name_no_place(path: object) -> None:
    lines = ROOT.joinpath(str(path)).read_text(encoding="utf-8").splitlines()
    loose = [line for line in lines if not line.startswith("#") and not PIN.fullmatch(line)]
    assert loose == []
    assert len(lines) > 10


def test_every_way_to_install_takes_the_same_versions() -> None:
    everything = pins("dev").items()
    for name in ("embedded", "server", *SERVICES):
        assert pins(name).items() <= everything


def test_pins_satisfy_what_the_project_asks_for() -> None:
    metadata = project()["project"]
    asked = [
        *metadata["dependencies"],
        *(text for extra in metadata["optional-dependencies"].values() for text in extra),
    ]
    names = {normal(re.split(r"[\[<>=!~ ]", text, maxsplit=1)[0]) for text in asked}
    # The `lang` extra is optional at run time and downloads large models; it is not pinned. Nor is what the
    # statistics may be checked against, of which any version will do.
    unpinned = {"proctor", "lingua-language-detector", "scipy", "statsmodels"}
    assert names - set(pins("dev")) - unpinned == set()


def test_the_fence_around_imports_holds() -> None:
    assert "faststream is not among the requirements" in imported_within("embedded", "faststream")


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_runs_on_its_own_requirements(service: str) -> None:
    assert imported_within(service, f"proctor_{service}", "proctor_contracts") == ""


def test_the_pure_libraries_and_the_command_run_on_the_embedded_requirements() -> None:
    pure = ("proctor_contracts", "proctor_grading", "proctor_reports", "proctor_cli")
    assert imported_within("embedded", *pure) == ""


def test_a_worker_runs_where_no_database_library_can_be_imported() -> None:
    # The embedded mode needs those libraries, so they are installed everywhere; workers leave them alone.
    drivers = "sqlalchemy,alembic,asyncpg"
    for service in ("runner", "judge"):
        command = [sys.executable, "-c", FENCE, drivers, f"proctor_{service}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert done.stderr == ""


def test_every_service_has_a_package_and_pins() -> None:
    for service in SERVICES:
        assert f"proctor_{service}" in packages()
        assert (ROOT / f"requirements/{service}.txt").exists()
