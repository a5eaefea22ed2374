"""Checks of what users give, and their messages."""
