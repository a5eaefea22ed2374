"""What a training step needs, from the shapes in its graph."""
