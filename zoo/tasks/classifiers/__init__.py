"""Tasks with one answer for a text."""
