"""An example plug-in package: a rank correlation with a figure, a report section and a studio page."""
