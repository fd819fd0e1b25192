"""Bad inputs by class: each module has a function `cases(scene)` that yields them."""
