"""What the command line asks of a task: files in, scores, answers and reports out."""
