"""Programs about vocabularies."""
