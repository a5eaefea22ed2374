"""Tasks whose answer is a span of a text."""
