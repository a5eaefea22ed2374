"""Files and paths: whole-or-nothing writing, bounds and checks."""
