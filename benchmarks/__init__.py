"""Measures speed and quality, and compares them with other libraries; see README.md."""
