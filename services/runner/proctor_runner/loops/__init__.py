"""The loops that play a case: each turns a job into a recording, and keeps nothing outside the call."""
