"""Programs about the vectors of texts, words and layers."""
