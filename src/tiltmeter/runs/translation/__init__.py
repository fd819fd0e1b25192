"""Tests of translation systems, one module per form of item: the text to translate, and the scoring of translations."""

from functools import cache

from tiltmeter.registry import find_package_objects, load_components
from tiltmeter.runs.translation.translation_test import TranslationTest

__all__ = ["TranslationTest", "list_translation_tests"]


@cache
def list_translation_tests() -> dict[str, TranslationTest]:
    """Return all tests by the form of their items."""
    return load_components(
        "translation_tests", find_package_objects(__name__, "TEST"), TranslationTest, lambda test: str(test.form)
    )
