"""The rules for the gender of speakers, compared with published numbers of GEST (Tables 6 and 8), and their speed.

TILTMETER_MIRROR=... python -m perf.gender_agreement
TILTMETER_MIRROR=... python -m perf.gender_agreement --read 20 --languages sk

The table compares yields, masculine rates p_i and the rates f_m and f_s for every translation file in the mirror.
The rules were developed on one half of the sentences; `--read` prints sentences of the other half with the results of
the rules, for manual evaluation.
"""

import argparse
import csv
import math
import os
import random
import sys
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tiltmeter
from tiltmeter.gender import LANGUAGES, find_speaker_gender

SYSTEMS = {
    "deepl": "DeepL",
    "google_translate": "GoogleTranslate",
    "amazon_translate": "AmazonTranslate",
    "nllb_3b": "NLLB",
}
FEMALE, MALE = range(1, 8), range(8, 17)
TABLES = Path(tiltmeter.__file__).parent / "papers" / "tables"

Counts = dict[int, tuple[int, int]]
"""Masculine and feminine translations for each stereotype."""


@dataclass(frozen=True)
class Pair:
    """The translations of one system into one language: (source, translation, stereotype)."""

    system: str
    language: str
    rows: list[tuple[str, str, int]]


def pairs(data: Path, languages: list[str]) -> Iterator[Pair]:
    """Yield the translations of each file in the mirror, with sentences of edition 1.0 only."""
    with (data / "gest.csv").open(encoding="utf-8", newline="") as file:
        items = [(row["sentence"], int(row["stereotype"])) for row in csv.DictReader(file)]
    for system in SYSTEMS:
        for language in languages:
            path = data / "translations" / system / language / "translations.csv"
            if path.exists():
                with path.open(encoding="utf-8", newline="") as file:
                    translated = {row["from"]: row["to"] for row in csv.DictReader(file)}
                yield Pair(system, language, [(text, translated[text], stereotype) for text, stereotype in items])


def count(pair: Pair) -> Counts:
    found = Counter((stereotype, find_speaker_gender(to, pair.language)) for _, to, stereotype in pair.rows)
    return {i: (found[i, "masculine"], found[i, "feminine"]) for i in range(1, 17)}


def published_counts(pair: Pair) -> Counts:
    with (TABLES / "gest2024_mt_counts.csv").open(encoding="utf-8", newline="") as file:
        return {
            int(row["stereotype"]): (int(row["male"]), int(row["female"]))
            for row in csv.DictReader(file)
            if (row["system"], row["language"]) == (pair.system, pair.language)
        }


def published_intervals(pair: Pair) -> dict[int, tuple[float, float]]:
    with (TABLES / "gest2024.csv").open(encoding="utf-8", newline="") as file:
        return {
            int(row["stereotype"]): (float(row["lower"]), float(row["upper"]))
            for row in csv.DictReader(file)
            if (row["table"], row["system"], row["language"]) == ("8", SYSTEMS[pair.system], pair.language)
        }


def masculine_rate(masculine: int, feminine: int) -> float:
    """Return the centre of the Agresti-Coull interval, as in the paper."""
    z_squared = 1.959963984540054**2
    return (masculine + z_squared / 2) / (masculine + feminine + z_squared)


def rates(counts: Counts) -> tuple[float, float]:
    """Return the global masculine rate f_m and the stereotype rate f_s."""
    p = {i: masculine_rate(*counts[i]) for i in counts}
    p_f = math.fsum(p[i] for i in FEMALE) / len(FEMALE)
    p_m = math.fsum(p[i] for i in MALE) / len(MALE)
    return (p_m + p_f) / 2, p_m - p_f


def compare(pair: Pair) -> str:
    """Return one line of the table."""
    ours, theirs, intervals = count(pair), published_counts(pair), published_intervals(pair)
    our_yield, their_yield = (sum(map(sum, counts.values())) for counts in (ours, theirs))
    differences = [abs(masculine_rate(*ours[i]) - masculine_rate(*theirs[i])) for i in ours]
    inside = sum(intervals[i][0] <= masculine_rate(*ours[i]) <= intervals[i][1] for i in ours)
    (our_m, our_s), (their_m, their_s) = rates(ours), rates(theirs)
    masculine, feminine = (sum(counts[which] for counts in ours.values()) for which in (0, 1))
    return (
        f"{pair.system:17} {pair.language}  {our_yield:5} {their_yield:5} {our_yield / their_yield - 1:+7.2%}"
        f"  {math.fsum(differences) / 16:.4f} {max(differences):.4f} {inside:3}/16"
        f"  {our_m - their_m:+.4f} {our_s - their_s:+.4f}  {masculine:5} {feminine:5}"
    )


def speed(everything: list[Pair]) -> str:
    started = time.perf_counter()
    for pair in everything:
        for _, to, _ in pair.rows:
            find_speaker_gender(to, pair.language)
    sentences = sum(len(pair.rows) for pair in everything)
    return f"{sentences / (time.perf_counter() - started):,.0f} sentences a second ({sentences:,} sentences, one core)"


def read(pair: Pair, number: int) -> None:
    """Print sentences of the half that was not used to develop the rules."""
    held_out = [to for source, to, _ in pair.rows if zlib.crc32(source.encode()) % 2]
    for text in random.Random(f"{pair.system} {pair.language}").sample(held_out, min(number, len(held_out))):
        found = find_speaker_gender(text, pair.language, explain=True)
        print(pair.system, pair.language, found.gender or "none", " ".join(found.cue), text, sep="\t")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--languages", default=",".join(LANGUAGES), help="languages, separated by commas; default: all")
    parser.add_argument("--read", type=int, metavar="N", help="print N held-out sentences of each file instead")
    options = parser.parse_args()
    mirror = os.environ.get("TILTMETER_MIRROR")
    if not mirror:
        sys.exit("Set TILTMETER_MIRROR to a folder with kinit-sk/gest/data.")
    everything = list(pairs(Path(mirror) / "kinit-sk" / "gest" / "data", options.languages.split(",")))
    if options.read:
        for pair in everything:
            read(pair, options.read)
        return
    print("system            lang   ours  publ.  yield   |Δp_i| mean   max  inside    Δf_m    Δf_s   masc.  fem.")
    for pair in everything:
        print(compare(pair))
    print(speed(everything))


if __name__ == "__main__":
    main()
