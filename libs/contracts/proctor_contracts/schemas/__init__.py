"""The REST shapes: bodies, views, envelopes and problems."""
