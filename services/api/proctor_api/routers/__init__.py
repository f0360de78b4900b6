"""Routes: each parses, makes one call and answers."""
