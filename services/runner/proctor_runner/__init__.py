"""The runner service: executes one case a job and grades what code can check."""
