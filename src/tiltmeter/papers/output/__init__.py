"""Outputs of a reproduction: terminal, JSON and Markdown."""
