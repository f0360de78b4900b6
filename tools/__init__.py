"""Commands for people who work on Proctor: test servers, the demo, pins."""
