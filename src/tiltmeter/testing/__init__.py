"""Conformance checks for plug-ins: one function for each type of component.

Each function raises an AssertionError that names the component, the property that the component lacks, and an example.
"""

from tiltmeter.testing.benchmark_conformance import check_benchmark
from tiltmeter.testing.chat_model_conformance import check_chat_model
from tiltmeter.testing.form_conformance import check_form
from tiltmeter.testing.measure_conformance import check_measure
from tiltmeter.testing.model_conformance import check_model

__all__ = ["check_benchmark", "check_chat_model", "check_form", "check_measure", "check_model"]
