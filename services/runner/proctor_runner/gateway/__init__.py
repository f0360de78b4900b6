"""Tools of a conversation: what the model is offered, what a call does, and what it leaves behind."""

__all__: list[str] = []
