"""Runs: evaluate a model or a translation system, or score published predictions or translations."""
