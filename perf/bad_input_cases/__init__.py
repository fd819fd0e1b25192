"""Kinds of bad input, by class: one module per class, whose `cases(scene)` yields them."""
