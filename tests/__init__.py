"""Tests of Tiltmeter. This is a package, so that no other package named `tests` on the path is imported instead."""
