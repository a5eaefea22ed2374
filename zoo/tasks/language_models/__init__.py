"""Tasks that predict words of their own texts."""
