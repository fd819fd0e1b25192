"""Matrices of runs (several models on several benchmarks) on one or several machines: plans, jobs and engines."""
