"""Case files in and out: bytes become drafts of cases, cases become bytes; nothing is read or stored here."""

__all__: list[str] = []
