"""Gendered pairs from released translations, compared with released pairs: the share of equal pairs, and reasons.

    python -m perf.released_pairs MIRROR PROJECT [--language Slovak]

PROJECT is a project of gendered pairs after `tiltmeter make repair`. The released pairs are those of EuroGEST (Rowe et
al.), from newer translations; the pairs of GEST itself are not in every mirror. Final punctuation is ignored.
"""

import argparse
import csv
from collections import Counter
from pathlib import Path

from tiltmeter.forms.gest import GestItem
from tiltmeter.making.open_problems import assemble_items
from tiltmeter.making.project import open_project

FILE = "JacquelineRowe/EuroGEST/data/gest_translations_gender_sensitive.csv"


def released(path: Path, language: str) -> dict[str, tuple[str, str]]:
    """Return the (masculine, feminine) pairs of a language by English sentence."""
    with path.open(encoding="utf-8", newline="") as file:
        names, _prompts, *rows = csv.reader(file)
    man, woman = (place for place, name in enumerate(names) if name == language)
    return {row[1]: (_plain(row[man]), _plain(row[woman])) for row in rows if row[man] and row[woman]}


def causes(project_folder: Path, pairs: dict[str, tuple[str, str]]) -> Counter[str]:
    """Return the counts of outcomes of the released pairs in the project."""
    counts: Counter[str] = Counter()
    with open_project(project_folder) as project:
        made = {item.id: item for item in assemble_items(project).items}
        texts = project.store.list_texts("text")
        for entry in project.store.list_items(dropped=None):
            source = project.get_source_item(entry)
            assert isinstance(source, GestItem)
            if source.sentence not in pairs:
                continue
            item = made.get(entry.id)
            if item is not None:
                own = (_plain(item.male), _plain(item.female))  # type: ignore[attr-defined]
                counts["the same pair" if own == pairs[source.sentence] else "a pair with another wording"] += 1
            else:
                plain = _plain(texts.get(entry.id, {}).get("sentence", ""))
                kind = "plain translation is one of the two" if plain in pairs[source.sentence] else "other wording"
                counts[f"dropped ({kind}): {entry.dropped}"] += 1
    counts["not a sentence of the project"] = len(pairs) - counts.total()
    return counts


def _plain(text: str) -> str:
    return text.strip().rstrip(".!?").strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mirror", type=Path)
    parser.add_argument("project", type=Path)
    parser.add_argument("--language", default="Slovak")
    options = parser.parse_args()
    pairs = released(options.mirror / FILE, options.language)
    print(f"{len(pairs):>6,} released pairs")
    for cause, count in causes(options.project, pairs).most_common():
        print(f"{count:>6,} {count / len(pairs):>6.1%} {cause}")


if __name__ == "__main__":
    main()
