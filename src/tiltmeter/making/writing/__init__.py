"""Test sets whose items are written by people: plans with quotas for each writer, checks, and ratings."""
