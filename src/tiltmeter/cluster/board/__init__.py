"""The board: a static web site that compares and ranks the models of many runs."""
