"""The options of a run. Each group of options is a dataclass.

The command line, the keys of plan files, the checks of values and the studio's web form are derived from these
dataclasses. To add an option, add a field with `define_option(…)` to one of the dataclasses, add a keyword to
`tiltmeter.evaluate`, and write the code that uses the value.
"""

from tiltmeter.options.chat_options import ChatOptions
from tiltmeter.options.model_options import DTYPES, ModelOptions
from tiltmeter.options.option_field import OptionField, build_options, list_options
from tiltmeter.options.run_settings import RunSettings

__all__ = [
    "DTYPES",
    "ChatOptions",
    "ModelOptions",
    "OptionField",
    "RunSettings",
    "build_options",
    "list_options",
]
