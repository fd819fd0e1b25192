"""Runs of the models of the papers: the plan of the runs as a matrix, and the folders of the finished runs."""
