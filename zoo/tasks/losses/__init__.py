"""Losses and metrics of tasks."""
