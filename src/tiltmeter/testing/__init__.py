"""Conformance checks for plug-ins: a function for each type of component, which Tiltmeter's own components pass, too.

Each raises an AssertionError that names the component, the property that it lacks, and the example that shows it.
"""

from tiltmeter.testing.benchmark_check import check_benchmark
from tiltmeter.testing.chat_model_check import check_chat_model
from tiltmeter.testing.form_check import check_form
from tiltmeter.testing.measure_check import check_measure
from tiltmeter.testing.model_check import check_model

__all__ = ["check_benchmark", "check_chat_model", "check_form", "check_measure", "check_model"]
