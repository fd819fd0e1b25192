"""Recipes that recompute printed numbers, by type of released material; `lookup` selects the recipe of a number."""
