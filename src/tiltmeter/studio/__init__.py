"""The studio: a local web application to measure, look, compare and review."""
