"""All SQL of Proctor, by noun; every function runs in the caller's transaction."""
