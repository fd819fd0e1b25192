"""Tests of translation systems, one module per form of item: what is translated, and how translations are scored."""

from functools import cache

from tiltmeter.registry import find_package_objects
from tiltmeter.runs.translation.translation_test import TranslationTest

__all__ = ["TranslationTest", "list_translation_tests"]


@cache
def list_translation_tests() -> dict[str, TranslationTest]:
    """All tests, by the form of their items."""
    return {test.form: test for test in find_package_objects(__name__, "TEST")}
