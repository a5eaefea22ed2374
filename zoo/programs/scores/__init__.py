"""Programs that make tables of scores."""
