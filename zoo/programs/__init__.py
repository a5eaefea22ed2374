"""The programs that the command line runs."""
