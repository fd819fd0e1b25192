"""The time limit of tests that wait for another thread or process."""

# Seconds; long enough for any load of the machine. No test passes because of this limit.
PATIENCE = 600.0
