"""Runs and alerts whose time is over: stored elsewhere first if that is wanted, then deleted in batches."""
