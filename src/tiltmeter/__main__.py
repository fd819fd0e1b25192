"""`python -m tiltmeter`, the same as the command `tiltmeter`."""

from tiltmeter.cli import main

main()
