"""One module a command; each is imported only when it is used."""

__all__: list[str] = []
