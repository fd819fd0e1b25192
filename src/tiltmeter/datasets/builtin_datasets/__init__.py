"""The data sets that Tiltmeter knows, in modules by origin; each has `ENTRIES`."""
