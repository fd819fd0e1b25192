"""Items that people write: plans with quotas, checks, and ratings."""
