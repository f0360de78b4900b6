"""Configurations of promptfoo: its tests as cases, and what of them has no counterpart."""

__all__: list[str] = []
