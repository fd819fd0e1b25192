"""Runs: evaluate models or translation systems, or score files of published predictions or translations."""
