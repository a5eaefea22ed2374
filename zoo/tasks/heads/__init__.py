"""Heads: layers from the vectors of a backbone to the outputs of a task."""
