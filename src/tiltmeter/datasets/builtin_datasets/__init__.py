"""The built-in data sets. Each module defines its data sets in a tuple `ENTRIES`."""
