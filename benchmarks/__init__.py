"""Benchmarks: whole processes on the same work, each beside a bare loop in the same run."""
