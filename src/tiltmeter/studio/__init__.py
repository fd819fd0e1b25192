"""The studio: a local web application to run, read and compare measurements and to review test sets."""
