"""What recomputes each printed number: a module for each kind of released material, `finding` chooses among them."""
