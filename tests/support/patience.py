"""How long tests wait for what another thread or process does."""

# Seconds after which it will not happen any more, however busy the machine is. No test passes because of this number.
PATIENCE = 600.0
