"""The board: a static site that compares and ranks the models of many runs."""
