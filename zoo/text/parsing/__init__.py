"""Trees, and the tokens of a parser."""
