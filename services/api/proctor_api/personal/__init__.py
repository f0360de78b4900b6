"""Personal data in captured conversations: found, and replaced by placeholders that tell people apart."""
