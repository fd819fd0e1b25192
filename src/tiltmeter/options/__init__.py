"""The options of a run, one dataclass per group.

Command line, plan files, checks and the studio's form are derived from them. To add an option, add a field with
`define_option(…)` to one of the classes and a keyword to `tiltmeter.evaluate`, and use it.
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
