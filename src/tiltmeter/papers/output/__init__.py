"""Outputs of a reproduction: terminal, JSON, Markdown, LaTeX and HTML."""
