from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from proctor_llm.aliases import Aliases

SAFE = re.compile(r"[A-Za-z0-9_-]{1,64}")


def test_a_dot_and_an_underscore_are_not_confused() -> None:
    aliases = Aliases(["escalation.payment", "escalation_payment"])
    dotted, plain = aliases.alias("escalation.payment"), aliases.alias("escalation_payment")
    assert plain == "escalation_payment"
    assert dotted != plain
    assert aliases.name(dotted) == "escalation.payment"
    assert aliases.name(plain) == "escalation_payment"


def test_long_and_cyrillic_names_get_short_ascii_aliases() -> None:
    names = ["x" * 70, "x" * 71, "Створити повернення", "перевірити.статус"]
    aliases = Aliases(names)
    given_aliases = [aliases.alias(name) for name in names]
    assert len(set(given_aliases)) == 4
    assert all(SAFE.fullmatch(one) for one in given_aliases)
    assert [aliases.name(one) for one in given_aliases] == names


def test_an_alias_does_not_depend_on_the_other_tools() -> None:
    assert Aliases(["a.b"]).alias("a.b") == Aliases(["c d", "a.b"]).alias("a.b")


def test_a_tool_named_like_an_alias_keeps_its_name() -> None:
    taken = Aliases(["a.b"]).alias("a.b")
    aliases = Aliases([taken, "a.b"])
    assert aliases.alias(taken) == taken
    assert aliases.name(aliases.alias("a.b")) == "a.b"
    assert aliases.alias("a.b") != taken


def test_a_name_the_model_made_up_stays_as_it_is() -> None:
    assert Aliases(["a.b"]).name("invented") == "invented"


@given(st.lists(st.text(min_size=1, max_size=90), max_size=8))
def test_aliases_are_safe_unique_and_reversible(names: list[str]) -> None:
    aliases = Aliases(names)
    made = {name: aliases.alias(name) for name in names}
    assert all(SAFE.fullmatch(one) for one in made.values())
    assert len(set(made.values())) == len(set(names))
    assert all(aliases.name(alias) == name for name, alias in made.items())
