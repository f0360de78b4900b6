"""The collector and its neighbours: the one writer of results, window by window."""
