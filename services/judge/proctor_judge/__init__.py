"""The judge service: asks a model about what code cannot check."""
