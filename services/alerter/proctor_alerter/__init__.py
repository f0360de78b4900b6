"""The alerter service: consumes finished runs; regression alerts build on it."""
