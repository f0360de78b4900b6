"""What a handler does to the world: as it says itself, else as its name says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from proctor_contracts.agents import HandlerSnapshot
from proctor_contracts.base import Json
from proctor_contracts.effects import Action, HandlerEffect

__all__ = ["counts_as_side_effect", "effect_of", "key_of", "singular"]

_VERBS: Mapping[str, Action] = {
    verb: action
    for action, verbs in (
        (Action.CREATE, "create add open issue make send book place submit register start initiate"),
        (Action.UPDATE, "update set change edit modify assign move"),
        (Action.DELETE, "delete remove cancel close void revoke"),
        (Action.READ, "get list find search lookup fetch check read show status"),
    )
    for verb in verbs.split()
}
_SEPARATORS = re.compile(r"[\W_]+")
_ENDINGS = (("ies", "y"), ("sses", "ss"), ("shes", "sh"), ("ches", "ch"), ("xes", "x"))
_ID_ENDINGS = (("_id", "-id", "Id", "ID"), ("id",))
"""An `order_id` first; an `orderid` only where there is none, since `paid` ends like it."""
_SHORT = 3
_NO_PLURAL = ("ss", "us", "is")


def counts_as_side_effect(handler: HandlerSnapshot) -> bool:
    """Whether a dry run must not call it; nobody having said so counts as yes."""
    return handler.is_side_effect is not False


def effect_of(handler: HandlerSnapshot) -> HandlerEffect:
    """Say what a handler does; `create_refund`, `refund.create` and `createRefunds` all create a refund.

    A name without a verb creates what it is called when it counts as a side effect, else it reads it.
    """
    if handler.effect is not None:
        return handler.effect
    tokens = _tokens(handler.name)
    at = _verb_at(tokens)
    if at is None:
        action = Action.CREATE if counts_as_side_effect(handler) else Action.READ
        rest = tokens
    else:
        action = _VERBS[tokens[at]]
        rest = [*tokens[:at], *tokens[at + 1 :]] or tokens
    entity = "_".join([*rest[:-1], singular(rest[-1])]) if rest else handler.name
    return HandlerEffect(entity=entity[:128], action=action)


def key_of(effect: HandlerEffect, values: Mapping[str, Json]) -> str | None:
    """Give the key of the record that a call (or a record itself) is about, or None when it names none."""
    if effect.key is not None:
        return _key(values.get(effect.key))
    camel = re.sub(r"_(\w)", lambda found: found[1].upper(), effect.entity)
    for name in ("id", f"{effect.entity}_id", f"{camel}Id"):
        if (key := _key(values.get(name))) is not None:
            return key
    for ending in _ID_ENDINGS:
        found = [key for name, value in values.items() if name.endswith(ending) and (key := _key(value))]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def singular(word: str) -> str:
    """Drop a plural ending: refunds, categories and addresses, but not that of status, address or sms."""
    for plural, ending in _ENDINGS:
        if word.endswith(plural) and len(word) > len(plural) + 1:
            return word.removesuffix(plural) + ending
    return word[:-1] if len(word) > _SHORT and word.endswith("s") and not word.endswith(_NO_PLURAL) else word


def _tokens(name: str) -> list[str]:
    """Split at punctuation and where a small letter or digit meets a capital one, in any script."""
    spaced = "".join(
        f" {letter}" if letter.isupper() and before and not before.isupper() else letter
        for before, letter in zip("\0" + name, name, strict=False)
    )
    return [token.lower() for token in _SEPARATORS.sub(" ", spaced).split()]


def _verb_at(tokens: Sequence[str]) -> int | None:
    """Find the verb: first where most names have it, then last (`order.status.update`), then anywhere."""
    order = [0, len(tokens) - 1, *range(len(tokens))] if tokens else []
    return next((at for at in order if tokens[at] in _VERBS), None)


def _key(value: Json) -> str | None:
    match value:
        case None | bool() | dict() | list() | "":
            return None
        case float() if value.is_integer():
            return str(int(value))
        case _:
            return str(value)
