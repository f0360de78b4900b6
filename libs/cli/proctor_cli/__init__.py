"""The proctor command."""
