"""Chat transcripts in the messages form of OpenAI, one conversation a line."""

__all__: list[str] = []
