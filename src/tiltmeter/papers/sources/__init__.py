"""Recipes that recompute printed numbers: a module for each kind of released material; `lookup` chooses among them."""
