"""The API service: the truth about accounts, cases, runs and results."""
