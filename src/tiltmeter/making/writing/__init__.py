"""Items that people write: plans and quotas, checks, and their ratings."""
