"""Recipes that recompute printed numbers; the module `lookup` selects the recipe of a number."""
