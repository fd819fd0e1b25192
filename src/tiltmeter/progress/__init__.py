"""Show the progress of long steps in terminals, log files, notebooks and the studio, through one interface."""
