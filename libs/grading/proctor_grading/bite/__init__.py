"""The bite score: wrong conversations made from a case's reference, each of which the case should fail."""
