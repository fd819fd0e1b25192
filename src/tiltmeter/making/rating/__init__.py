"""Rating tasks on declared scales, and samples of what the gender rules and the pair filter say."""
