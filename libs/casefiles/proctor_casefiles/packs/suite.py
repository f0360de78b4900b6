"""A pack as a file that a suite includes."""

from __future__ import annotations

import re
from collections.abc import Sequence

import yaml
from typing_extensions import override

from proctor_contracts.cases import CaseFields

__all__ = ["suite_text"]

_HEAD = """\
# Attacks with guards, written by `proctor seed-adversarial`: rather write them anew than edit them here.
# A suite takes it in with:  cases: [{file: NAME}]
"""
# What YAML 1.2 reads as a number or a word of its own where PyYAML, by 1.1, would see plain text.
_PLAIN = re.compile(r"[-+.\d].*|true|false|null|~|", re.IGNORECASE)


class _Dumper(yaml.SafeDumper):
    @override
    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = "'" if _PLAIN.fullmatch(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def suite_text(cases: Sequence[CaseFields]) -> str:
    """Write cases as YAML that `cases: [{file: …}]` of a suite reads back as the same cases."""
    written = [case.model_dump(mode="json", by_alias=True, exclude_unset=True) for case in cases]
    body = yaml.dump(written, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=100)
    return _HEAD + body
