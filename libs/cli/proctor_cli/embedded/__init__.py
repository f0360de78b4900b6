"""The services inside the command's own process; the only part of it that imports them."""

__all__: list[str] = []
