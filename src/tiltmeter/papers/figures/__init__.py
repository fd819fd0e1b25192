"""Figures of papers, drawn from the printed and the recomputed numbers of their tables, or from runs."""
