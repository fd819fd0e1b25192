"""Tests of translation systems, one module per form of item: what is translated, and how translations are scored."""

from functools import cache

from tiltmeter.registry import load_components, package_objects
from tiltmeter.runs.translating.translation_test import TranslationTest

__all__ = ["TranslationTest", "translation_tests"]


@cache
def translation_tests() -> dict[str, TranslationTest]:
    """All tests, by the form of their items."""
    return load_components(
        "translation_tests", package_objects(__name__, "TEST"), TranslationTest, lambda test: str(test.form)
    )
