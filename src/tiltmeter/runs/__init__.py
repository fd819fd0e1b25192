"""Runs: evaluate models or translation systems, or score published predictions or translations."""
