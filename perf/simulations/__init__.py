"""Simulations with known truth: coverage of intervals, type I error and power of tests."""
