"""What users give to a task: texts, targets, weights and streams of them."""
