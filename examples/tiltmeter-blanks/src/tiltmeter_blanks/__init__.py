"""An example of a package that brings a form, a benchmark, a measure and a data set."""
