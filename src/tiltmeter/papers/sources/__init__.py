"""Recipes that recompute printed numbers; the module `source_lookup` selects the recipe of a number."""
