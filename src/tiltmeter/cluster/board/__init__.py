"""The board: many runs as a static site. Runs are found, become columns, are tested, and are written as pages."""
