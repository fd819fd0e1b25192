"""Apertium, a rule-based translation system that is installed as a local program."""

import hashlib
import re
import shutil
import subprocess
from collections.abc import Sequence
from copy import copy
from functools import cached_property
from pathlib import Path

from tiltmeter.errors import ModelError, UsageError
from tiltmeter.forms.word_difference import find_word_spans
from tiltmeter.language_codes import get_base_code, is_same_language
from tiltmeter.translators.translator_protocol import SOURCE

PROGRAM = "apertium"
# Apertium's code for the languages that it treats as one, Serbo-Croatian.
_SERBO_CROATIAN = "hbs"
_BREAK = "\n\n"
# A word that Apertium's dictionary does not have (`*`) or has without a translation (`@`); it stands in the output
# unchanged. A hyphenated word has one mark.
_MARKED = re.compile(r"(?<!\w)[*@](\S+)")


class ApertiumTranslator:
    """One translation direction of Apertium, for example eng-spa."""

    price = None
    batch_size = 500  # starting the program takes as long as translating dozens of sentences

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.name = f"apertium:{mode}"
        self.source = SOURCE
        if shutil.which(PROGRAM) is None:
            raise UsageError(
                "Apertium is not installed; on Debian and Ubuntu run `apt install apertium apertium-eng-spa`, with the "
                "package of your languages."
            )
        self._installed = installed = _run_apertium(["-l"], "").split()
        if mode not in installed:
            raise UsageError(
                f"Apertium has no direction {mode!r}; installed directions: {', '.join(installed) or 'none'}. Install "
                "the package of your languages, for example apertium-eng-spa."
            )

    @cached_property
    def key(self) -> str:
        """The key of stored translations: version of the program, and a hash of the data files of this direction."""
        version = _run_apertium(["-V"], "").strip()
        digest = hashlib.sha256()
        for file in _list_data_files(self.mode):
            digest.update(file.read_bytes())
        # "by paragraph" distinguishes these translations from stored translations in which the texts of a batch
        # influenced each other.
        return f"apertium {self.mode} {version} {digest.hexdigest()[:16]} by paragraph"

    def check(self, language: str) -> None:
        """Raise a UsageError unless this direction translates from the source language to `language`."""
        if not _translates(self.mode, self.source, language):
            start = "English" if self.source == SOURCE else repr(self.source)
            fitting = [mode for mode in self._installed if _translates(mode, self.source, language)]
            known = [mode for mode in self._installed if _is_code_of(_split_mode(mode)[0], self.source)]
            remedy = f"choose {' or '.join(fitting)}"
            if not fitting:
                remedy = (
                    f"the installed directions from {start} are {', '.join(known) or 'none'}. Install the package of "
                    "your languages, or choose another system"
                )
            raise UsageError(
                f"Apertium's direction {self.mode} does not translate from {start} to {language!r}; {remedy}."
            )

    def with_source_language(self, language: str) -> "ApertiumTranslator":
        """Return a copy with another source language; `check` rejects it if the direction has another one."""
        other = copy(self)
        other.source = language
        return other

    def translate(self, texts: Sequence[str], language: str) -> list[str]:  # noqa: ARG002 - the mode includes it
        """Translate texts; words that are not in the dictionary stay untranslated.

        The translation of a text on which the program crashes is empty.
        """
        return self._translate_paragraphs(texts, ["-u"])

    def list_unknown_words(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the words of each text that Apertium marks as unknown (`*`) or as not translated (`@`)."""
        marked = self._translate_paragraphs(texts, [])
        return [[word for chunk in _MARKED.findall(text) for word in _list_words(chunk)] for text in marked]

    def _translate_paragraphs(self, texts: Sequence[str], options: Sequence[str]) -> list[str]:
        # Separate texts by an empty line, because Apertium applies its rules across a single line break.
        paragraphs = [" ".join(text.split()) for text in texts]
        translated = _run_apertium([*options, self.mode], _BREAK.join(paragraphs) + _BREAK)
        found = translated.removesuffix(_BREAK).split(_BREAK)
        if translated.endswith(_BREAK) and len(found) == len(texts):
            return [" ".join(paragraph.split()) for paragraph in found]
        # If a stage of the pipeline crashes on a text, Apertium cuts its output there and still ends with exit code 0.
        if len(texts) == 1:
            return [""]
        middle = len(texts) // 2
        return [
            paragraph
            for half in (texts[:middle], texts[middle:])
            for paragraph in self._translate_paragraphs(half, options)
        ]


def _list_words(text: str) -> list[str]:
    return [text[start:end] for start, end in find_word_spans(text)]


def _split_mode(mode: str) -> tuple[str, str]:
    """Return the codes of both languages of a direction, such as eng-cat_valencia or en-eo-bytecode.

    >>> _split_mode("eng-cat_valencia"), _split_mode("en-eo-bytecode")
    (('eng', 'cat_valencia'), ('en', 'eo'))
    """
    source, target, *_ = [*mode.split("-"), ""]
    return source, target


def _translates(mode: str, source: str, target: str) -> bool:
    own_source, own_target = _split_mode(mode)
    return _is_code_of(own_source, source) and _is_code_of(own_target, target)


def _is_code_of(code: str, language: str) -> bool:
    """Return whether Apertium's code denotes a language; `cat_valencia` and `hbs_HR` are varieties.

    >>> _is_code_of("cat_valencia", "ca"), _is_code_of("hbs_HR", "hr"), _is_code_of("hbs", "sr"), _is_code_of("", "hr")
    (True, True, True, False)
    """
    base = code.partition("_")[0]
    if base == _SERBO_CROATIAN:
        return get_base_code(language) in ("bs", "hr", "sh", "sr", _SERBO_CROATIAN)
    return bool(base) and is_same_language(base, language)


def _run_apertium(arguments: Sequence[str], text: str) -> str:
    done = subprocess.run(
        [PROGRAM, *arguments], check=False, input=text, capture_output=True, text=True, encoding="utf-8"
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0].rstrip(".")
        raise ModelError(f"Apertium failed: {reason}.")
    return done.stdout


def _list_data_files(mode: str) -> list[Path]:
    """Return the pipeline file of a direction, and the files that the pipeline file refers to."""
    program = Path(shutil.which(PROGRAM) or PROGRAM).resolve()
    pipeline = program.parents[1] / "share" / "apertium" / "modes" / f"{mode}.mode"
    if not pipeline.is_file():
        return []
    named = re.findall(r"'([^']+)'", pipeline.read_text(encoding="utf-8"))
    return [pipeline, *(path for path in map(Path, named) if path.is_file())]
