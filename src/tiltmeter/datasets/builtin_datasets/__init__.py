"""The built-in data sets; each module has a tuple `ENTRIES`."""
