"""Progress of long steps: one interface, with outputs for terminals, log files, notebooks and the studio."""
