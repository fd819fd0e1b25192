"""Progress of long steps: one protocol, and outputs for terminals, logs, notebooks and the studio."""
