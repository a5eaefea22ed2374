"""Programs that fine-tune a task."""
