from __future__ import annotations

from tools.editable import main, runs_checkout


def test_the_checkout_is_told_from_a_copy() -> None:
    assert runs_checkout()
    assert main() == 0
    assert not runs_checkout("pydantic")
    assert not runs_checkout("no_such_package_anywhere")
