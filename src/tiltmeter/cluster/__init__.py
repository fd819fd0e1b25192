"""Matrices of runs on one or several machines: plans, jobs, and the engines that run the jobs."""
