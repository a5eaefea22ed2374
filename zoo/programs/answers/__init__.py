"""Programs that answer whole files."""
