"""What the API can do, free of HTTP: one class a subject, one transaction a call."""
