"""Suite files: a bot, its cases and its gate as text in a repository."""

__all__: list[str] = []
