"""Packs of ready cases: attacks that a bot should stand, with guards that code decides."""
