"""Ratings of texts on scales, and rated samples that measure the accuracy of the gender rules and the pair filter."""
