"""Tests of translation systems. Each form of item has a module with the text to translate and the scoring."""

from functools import cache

from tiltmeter.registry import find_package_objects, load_components
from tiltmeter.runs.translation.translation_test import TranslationTest

__all__ = ["TranslationTest", "list_translation_tests"]


@cache
def list_translation_tests() -> dict[str, TranslationTest]:
    """Return a mapping from each form of items to its test."""
    return load_components(
        "translation_tests", find_package_objects(__name__, "TEST"), TranslationTest, lambda test: str(test.form)
    )
