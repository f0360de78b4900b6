"""Pure renderers of a finished run: terminal, JUnit, Markdown, CSV."""

__all__: list[str] = []
