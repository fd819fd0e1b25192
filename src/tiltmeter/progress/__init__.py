"""Show the progress of long steps of a run in terminals, log files, notebooks and the studio, through one interface."""
