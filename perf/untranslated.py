"""Untranslated text, counted by Apertium's own marks and found by Tiltmeter's check without these marks.

`python -m perf.untranslated` translates items of StereoSet and the starter set from English into four languages. An
item is *untranslated* if Apertium marks one of its words as unknown (`*`) or as not translated (`@`), except the words
in NAMES; single letters do not count. It is *clean* if Apertium marks nothing. The check sees only the translations,
without the marks. In the corrected count, words in CORRECT do not count as marked.
"""

import argparse
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.datasets.dataset_loader import load_spec
from tiltmeter.datasets.dataset_spec import parse_spec
from tiltmeter.datasets.readers.jsonl import write_jsonl
from tiltmeter.forms import Item
from tiltmeter.forms.case_folding import fold_case
from tiltmeter.making.draft import Draft
from tiltmeter.making.project import create_project
from tiltmeter.making.quality.untranslated_text import create_untranslated_check
from tiltmeter.making.translation_step import translate_project
from tiltmeter.translators import open_translator

MODES = {"gl": "en-gl", "ca": "eng-cat", "eo": "en-eo", "es": "eng-spa"}
# Names among the marked words, chosen by hand: a translation keeps them.
NAMES = frozenset(["Ababa", "Addis", "Disney", "Marvel", "McDonald", "Rio", "Stoudious", "Verde"])
# All marked words that are correct words of the language with the same meaning, chosen by reading all marked words of
# the 380 items: nothing is untranslated.
CORRECT = {
    "gl": frozenset(
        [
            "blues",
            "chef",
            "disco",
            "discos",
            "karaoke",
            "polka",
            "recital",
            "rectangular",
            "saunas",
            "soluble",
            "spam",
            "tibia",
        ]
    ),
    "ca": frozenset(["imam", "liberals", "super", "Terriers", "tranquil"]),
    "eo": frozenset(),
    "es": frozenset(["blues", "chef", "golf", "karaoke", "pasta", "polka", "spam", "super"]),
}
_MARKED = re.compile(r"(?<!\w)[*@]([^\W\d_]{2,})")
_BREAK = "\n\n"


@dataclass(frozen=True)
class Outcome:
    """The numbers of untranslated items, of those that the check finds, of clean items, and of false alarms."""

    untranslated: int
    found: int
    clean: int
    alarms: int
    missed: tuple[str, ...]
    false: tuple[str, ...]


def select_items(count: int) -> dict[str, list[Item]]:
    """Return the starter set, and the first `count` English items of StereoSet, half of them from each part."""
    parts = ("intrasentence", "intersentence")
    stereoset = [item for part in parts for item in load_spec(parse_spec(f"stereoset/{part}:en"))[: count // 2]]
    return {"stereoset": stereoset, "starter": load_spec(parse_spec("starter:en"))}


def translate_items(items: Sequence[Item], language: str, folder: Path) -> list[Draft]:
    """Translate items in a new project, and return the translated drafts."""
    write_jsonl(items, folder / "source.jsonl")
    system = f"apertium:{MODES[language]}"
    with create_project(folder / "project", str(folder / "source.jsonl"), language=language, system=system) as project:
        translate_project(project, open_translator(system))
        return project.build_drafts(project.store.list_items())


def list_marked_words(drafts: Sequence[Draft], language: str) -> list[set[str]]:
    """Return, for each draft, the words of its source that Apertium marks, by an own call of the program."""
    texts = [" ".join(text.split()) for draft in drafts for text in draft.source.values()]
    command = ["apertium", MODES[language]]
    done = subprocess.run(command, input=_BREAK.join(texts) + _BREAK, capture_output=True, text=True, check=True)
    marked = iter(done.stdout.removesuffix(_BREAK).split(_BREAK))
    found = []
    for draft in drafts:
        words = {word for _ in draft.source for word in _MARKED.findall(next(marked))}
        known = fold_case(" ".join(draft.source.values()))
        found.append({word for word in words if fold_case(word) in known} - NAMES)
    return found


def compare(drafts: Sequence[Draft], marked: Sequence[set[str]], language: str, *, correct: bool) -> Outcome:
    """Compare the check with the marks; if `correct`, words in CORRECT do not count as marked."""
    check = create_untranslated_check("en", language, (text for draft in drafts for text in draft.source.values()))
    ignored = CORRECT[language] if correct else frozenset()
    missed, false, found, clean, untranslated, alarms = [], [], 0, 0, 0, 0
    for draft, words in zip(drafts, marked, strict=True):
        own = check.find_untranslated(draft.source, draft.texts)
        if words - ignored:
            untranslated += 1
            found += bool(own)
            missed += [] if own else sorted(words - ignored)
        else:
            clean += 1
            alarms += bool(own)
            false += [" ".join(one.words) or one.message for one in own]
    return Outcome(untranslated, found, clean, alarms, tuple(missed), tuple(dict.fromkeys(false)))


def main() -> None:
    """Print the table of docs/evidence/untranslated.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=300, help="the number of items of StereoSet")
    options = parser.parse_args()
    chosen = select_items(options.items)
    print("| language | data | items | found | false alarms | found, corrected | false alarms, corrected |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    details = []
    for language in MODES:
        drafts: list[Draft] = []
        marked: list[set[str]] = []
        for name, items in chosen.items():
            with tempfile.TemporaryDirectory() as folder:
                made = translate_items(items, language, Path(folder))
            words = list_marked_words(made, language)
            print(format_row(language, name, made, words), flush=True)
            drafts, marked = drafts + made, marked + words
        print(format_row(language, "both", drafts, marked), flush=True)
        both = compare(drafts, marked, language, correct=False)
        details.append(f"{language}: missed {' '.join(both.missed)}; false alarms {' '.join(both.false)}")
    print("\n".join(details))


def format_row(language: str, data: str, drafts: Sequence[Draft], marked: Sequence[set[str]]) -> str:
    """Return a row of the table."""
    counts = [compare(drafts, marked, language, correct=correct) for correct in (False, True)]
    shares = " | ".join(
        f"{format_share(one.found, one.untranslated)} | {format_share(one.alarms, one.clean)}" for one in counts
    )
    return f"| {language} | {data} | {len(drafts)} | {shares} |"


def format_share(part: int, whole: int) -> str:
    """Return a number and its share, such as `9 of 10 (90.0%)`."""
    return f"{part} of {whole} ({part / whole:.1%})"


if __name__ == "__main__":
    main()
