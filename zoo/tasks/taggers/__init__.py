"""Tasks with one answer for each word."""
