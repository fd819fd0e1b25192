"""Run the command line: `python -m tiltmeter`."""

from tiltmeter.cli import main

main()
