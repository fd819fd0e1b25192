"""An example plug-in package with a form, a benchmark, a measure and a data set."""
