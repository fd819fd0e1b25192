"""How answers come fast: plans, execution, the store of answers. Needs torch and numpy alone."""
