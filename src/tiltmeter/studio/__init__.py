"""The studio: a local web application for running, reading and comparing measurements, and for reviewing data sets."""
