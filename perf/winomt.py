"""The rules for the gender of nouns, compared with the released logs of WinoMT and the references of MT-GenEval.

TILTMETER_MIRROR=... python -m perf.winomt --times 3

It needs eflomal. The first table has the accuracy and ΔG of the released log and of Tiltmeter for every translation
file in the mirror in a language with rules, and the spread over several alignments. For German it adds a rule like that
of the released code: the nearest article or pronoun decides, except *den*.

The second table is for contexts of MT-GenEval, which have a reference in both genders. If the two references
have different words for a noun of WinoMT, the rules should detect the gender of each reference. If both genders are
wrong, the context is probably about another person; the last column counts these contexts, some of which may be errors
of the rules. Nouns without a gender in both references are omitted.
"""

import argparse
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tiltmeter.datasets.dataset_loader import DATASETS, load
from tiltmeter.forms.geneval import CONTEXT, FEMININE, MASCULINE, GenevalItem
from tiltmeter.forms.winomt import FEMALE, GENDERS, MALE, NEUTRAL, WinoMTItem
from tiltmeter.gender.noun_gender import NounGender, list_noun_languages, load_noun_rules
from tiltmeter.measures.winomt import READ
from tiltmeter.runs.translation.winomt import find_entity_tokens, read_gender
from tiltmeter.runs.translation_run import score_translations
from tiltmeter.translators.word_alignment import AlignedPair, Eflomal, find_aligner

REPOSITORY = "gabrielStanovsky/mt_gender"
OTHER = {MASCULINE: FEMININE, FEMININE: MASCULINE}
_COUNT = re.compile(r"<GENDER\.(\w+): \d>: (\d+)")
_GOLD = re.compile(r"<GENDER\.(\w+): \d>: defaultdict")
# A simplified rule of the released code for German: the nearest of these words decides.
_NEAR = {MALE: "der ein dem einen des er ihn ihm", FEMALE: "die eine einer sie", NEUTRAL: "das ihr ihre"}
NEAREST = {word: gender for gender, words in _NEAR.items() for word in words.split()}

Confusion = Counter[tuple[str, str]]
"""Counts by the gender of the person and the gender read."""


def read_log(text: str) -> Confusion:
    """Return the counts at the end of a released log."""
    found: Confusion = Counter()
    gold = ""
    for line in text.splitlines():
        if match := _GOLD.search(line):
            gold = match[1]
        for read, count in _COUNT.findall(line):
            found[gold, read] += int(count)
    return found


def accuracy(counts: Confusion) -> float:
    """Return the percentage of people with correctly detected gender."""
    return 100 * sum(count for (gold, read), count in counts.items() if gold == read) / counts.total()


def delta_g(counts: Confusion) -> float:
    """Return F1 of male minus F1 of female people, in points."""
    scores = []
    for gender in (MALE, FEMALE):
        size = sum(count * ((gold == gender) + (read == gender)) for (gold, read), count in counts.items())
        scores.append(200 * counts[gender, gender] / size)
    return scores[0] - scores[1]


def ours(path: Path, system: str, language: str) -> tuple[Confusion, float]:
    """Return the counts of a run on a file of translations, and its ΔS."""
    result = score_translations(path, system=system, on=f"winomt:{language}")
    roles = {role: gender for gender, role in READ.items()}
    read = result.scores[(result.scores["score"] == 1) & result.scores["role"].isin(list(roles))]
    counts: Confusion = Counter(zip(read["gender"], read["role"].map(roles), strict=True))
    for gold, count in result.scores.drop_duplicates("item")["gender"].value_counts().items():
        counts[str(gold), "unknown"] = int(count) - sum(n for (g, _), n in counts.items() if g == gold)
    (delta_s,) = [record.value for record in result.records if record.measure == "delta_S"]
    return counts, delta_s


def nearest_german(path: Path, aligner: Eflomal) -> Confusion:
    """Return the counts of German translations if the nearest article or pronoun decides, except *den*."""
    items: list[WinoMTItem] = load("winomt", None, "en")
    translations = dict(line.split(" ||| ", 1) for line in path.read_text(encoding="utf-8").splitlines())
    known = [item for item in items if item.sentence in translations]
    aligned = aligner.align_pairs([(item.sentence, translations[item.sentence]) for item in known])
    return Counter((item.gender, nearest(item, pair)) for item, pair in zip(known, aligned, strict=True))


def nearest(item: WinoMTItem, pair: AlignedPair) -> str:
    """Return the gender of the German article or pronoun that is nearest to the noun, except *den*."""
    entity = find_entity_tokens(item)
    linked = sorted(pair.find_linked_words(entity, both=True) or pair.find_linked_words(entity, both=False))
    words = [token.text for token in pair.target]
    if item.entity == "nurse" or any(words[place].endswith("in") for place in linked):
        return FEMALE
    near = [place for place, word in enumerate(words) if word.lower() in NEAREST]
    if not linked or not near:
        return MALE
    return NEAREST[words[min(near, key=lambda place: abs(place - linked[-1]))].lower()]


def released(mirror: Path, times: int) -> Iterator[str]:
    """Yield the rows of the first table."""
    for path in sorted((mirror / REPOSITORY / "translations").glob("*/en-*.txt")):
        system, language = path.parent.name, path.stem.removeprefix("en-")
        log = mirror / REPOSITORY / "logs" / system / f"{language}.log"
        if language not in list_noun_languages() or not log.is_file():
            continue
        theirs = read_log(log.read_text(encoding="utf-8"))
        runs = [ours(path, system, language) for _ in range(times)]
        values = [(accuracy(counts), delta_g(counts), delta_s) for counts, delta_s in runs]
        mean = [sum(column) / times for column in zip(*values, strict=True)]
        spread = [max(column) - min(column) for column in zip(*values, strict=True)]
        untold = [100 * sum(counts[gender, "unknown"] for gender in GENDERS) / counts.total() for counts, _ in runs]
        cells = [f"{one:.1f} (±{wide / 2:.1f})" for one, wide in zip(mean, spread, strict=True)]
        yield (
            f"| {system} | {language} | {accuracy(theirs):.1f} | {cells[0]} | {delta_g(theirs):.1f} | {cells[1]} | "
            f"{cells[2]} | {max(untold):.1f} |"
        )
        if language == "de" and (aligner := find_aligner()):
            counts = nearest_german(path, aligner)
            cells = ["–", f"{accuracy(counts):.1f}", "–", f"{delta_g(counts):.1f}", "–", "–"]
            yield f"| {system}, rule of the nearest word | {language} | {' | '.join(cells)} |"


def on_references(language: str, aligner: Eflomal, entities: set[str]) -> Counter[str]:
    """Count correct, wrong and missing genders of references, and pairs with both genders the wrong way round."""
    items: Sequence[GenevalItem] = load("mt-geneval", CONTEXT, language)
    texts = [(item, text) for item in items for text in (item.correct, item.incorrect)]
    aligned = aligner.align_pairs([(item.source, text) for item, text in texts])
    counts: Counter[str] = Counter()
    for number, item in enumerate(items):
        if item.gender not in OTHER:
            continue
        genders = (item.gender, OTHER[item.gender])
        for place in entity_places(aligned[2 * number], entities):
            found = [
                _read(item, text, pair, place, language)
                for (item, text), pair in zip(texts[2 * number :][:2], aligned[2 * number :][:2], strict=True)
            ]
            if found[0].cue == found[1].cue:
                continue
            if tuple(one.gender for one in found) == genders[::-1]:
                counts["other"] += 2
                continue
            for one, gender in zip(found, genders, strict=True):
                counts["untold" if one.gender is None else "right" if one.gender == gender else "wrong"] += 1
    return counts


def entity_places(pair: AlignedPair, entities: set[str]) -> list[int]:
    """Return the positions of nouns with an article before them in a source."""
    words = [token.text.lower() for token in pair.source]
    return [n for n, word in enumerate(words) if n and word in entities and words[n - 1] in ("a", "an", "the")]


def _read(item: GenevalItem, text: str, pair: AlignedPair, place: int, language: str) -> NounGender:
    # The token of the noun is the only one after `place` words.
    source = " ".join(token.text for token in pair.source)
    made = WinoMTItem(item.id, "en", MALE, pair.source[place].text, place, source)
    return read_gender(made, text, pair, load_noun_rules(language))


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=3, help="the number of alignments of each file")
    options = parser.parse_args()
    aligner, mirror = find_aligner(), os.environ.get("TILTMETER_MIRROR")
    if aligner is None or mirror is None:
        sys.exit("This needs eflomal, and the released files in TILTMETER_MIRROR.")
    print(
        "| system | language | accuracy, log | accuracy, ours | ΔG, log | ΔG, ours | ΔS, ours | "
        "gender not recognised (%) |"
    )
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for row in released(Path(mirror), options.times):
        print(row, flush=True)
    sources = [item for item in load("winomt", None, "en") if isinstance(item, WinoMTItem)]
    entities = {item.entity.lower() for item in sources if " " not in item.entity}
    print(
        "\n| language | nouns with a recognised gender | of these correct | of these wrong | gender not recognised | "
        "about somebody else |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for language in list_noun_languages():
        if all(source.is_local() for source in DATASETS["mt-geneval"].select(CONTEXT, [language])):
            counts = on_references(language, aligner, entities)
            told = counts["right"] + counts["wrong"]
            cells = (told, f"{100 * counts['right'] / told:.1f}%", counts["wrong"], counts["untold"], counts["other"])
            print(f"| {language} | {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
