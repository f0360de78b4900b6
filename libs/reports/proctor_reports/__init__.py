"""Pure renderers of a finished run: terminal, JUnit, Markdown, CSV."""
