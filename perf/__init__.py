"""Measurements of speed, memory and correctness; see `README.md`."""
