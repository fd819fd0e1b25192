"""Precision of the rules for the gender of a protagonist, on sentences of MT-GenEval and EuroGEST.

TILTMETER_MIRROR=... python -m perf.protagonist_gender [--read 20 --languages de]

Each sentence exists in a feminine and a masculine version, so the gender of the person is known. Sentences in English
are the sources of all files of MT-GenEval. First-person sentences are the pairs of EuroGEST. `--read` prints sentences
in which the rules find the wrong gender.
"""

import argparse
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tiltmeter.benchmarks.story import list_story_languages
from tiltmeter.datasets.dataset_loader import load
from tiltmeter.forms.gendered_pairs import GenderedPairItem
from tiltmeter.gender.protagonist_gender import find_protagonist_gender, list_third_person_languages

FOLDER = Path("amazon-science/machine-translation-gender-eval/data/sentences/test")
ENGLISH = "en"
GENDERS = ("feminine", "masculine")


def list_sentences(mirror: Path, language: str) -> Iterator[tuple[str, str]]:
    """Yield the gender and the text of each sentence in a language; English sentences occur in several files."""
    if language not in list_third_person_languages():
        for item in load("eurogest-pairs", language=language):
            assert isinstance(item, GenderedPairItem)
            yield from zip(GENDERS, (item.female, item.male), strict=True)
        return
    pattern = (
        "geneval-sentences-{}-test.en_*.en"
        if language == ENGLISH
        else f"geneval-sentences-{{}}-test.en_{language}.{language}"
    )
    for gender in GENDERS:
        paths = sorted((mirror / FOLDER).glob(pattern.format(gender)))
        lines = (line for path in paths for line in path.read_text(encoding="utf-8").split("\n") if line)
        yield from ((gender, line) for line in dict.fromkeys(lines))


def main() -> None:
    """Print a table with the share of sentences that were read, and the precision, by language."""
    parser = argparse.ArgumentParser(prog="python -m perf.protagonist_gender", description=__doc__)
    parser.add_argument("--languages", nargs="*", default=list(list_story_languages()))
    parser.add_argument("--read", type=int, default=0, help="the number of errors to print for each language")
    arguments = parser.parse_args()
    mirror = Path(os.environ["TILTMETER_MIRROR"])
    print("| language | sentences | read, feminine | read, masculine | precision, feminine | precision, masculine |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    errors: list[str] = []
    for language in arguments.languages:
        found: Counter[tuple[str, str | None]] = Counter()
        for gender, text in list_sentences(mirror, language):
            result = find_protagonist_gender(text, language)
            found[gender, result.gender] += 1
            if result.gender not in (gender, None):
                errors.append(f"{language} {gender} {result.cue} {text}")
        totals = {gender: sum(found[gender, other] for other in (*GENDERS, None)) for gender in GENDERS}
        read = [1 - found[gender, None] / totals[gender] for gender in GENDERS]
        right = [found[gender, gender] / sum(found[other, gender] for other in GENDERS) for gender in GENDERS]
        cells = [language, f"{sum(totals.values()):,}", *(f"{100 * share:.1f}%" for share in (*read, *right))]
        print(f"| {' | '.join(cells)} |")
        for line in errors[: arguments.read]:
            print(line)
        errors.clear()


if __name__ == "__main__":
    main()
