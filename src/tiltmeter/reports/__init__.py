"""Outputs for people and for other tools: terminal, HTML, figures, tables, comparisons, exports."""
