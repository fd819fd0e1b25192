"""Notes on runs that were measured on a sample of the items."""

from collections.abc import Iterator, Mapping
from typing import Any

from tiltmeter.measures.records import OVERALL


def list_sample_notes(
    manifest: Mapping[str, Any], benchmark: str | None = None, names: Mapping[str, str] | None = None
) -> Iterator[str]:
    """A sentence for each sampled part of a run, or of one benchmark; languages with as many items share one.

    `names` are the display names of benchmarks in a report.

    >>> entry = {"benchmark": "stereoset", "part": "intrasentence", "language": "en", "items": 100, "available": 2106}
    >>> list(list_sample_notes({"data": [entry]}))
    ['A sample: 100 of the 2,106 items of stereoset/intrasentence:en (--limit).']
    >>> list(list_sample_notes({"data": [entry, {**entry, "language": "de"}]}))
    ['A sample: 100 of the 2,106 items in each language of stereoset/intrasentence:en,de (--limit).']
    """
    languages: dict[tuple[str, str], list[str]] = {}
    for entry in manifest.get("data", ()):
        name = (names or {}).get(str(entry["benchmark"]), str(entry["benchmark"]))
        if (benchmark is None or name == benchmark) and _is_sampled(entry):
            part = "" if entry["part"] == "all" else f"/{entry['part']}"
            count = f"{entry['items']:,} of the {entry['available']:,} items"
            languages.setdefault((count, f"{name}{part}"), []).append(str(entry["language"]))
    for (count, name), codes in languages.items():
        each = " in each language" if len(codes) > 1 else ""
        yield f"A sample: {count}{each} of {name}:{','.join(codes)} (--limit)."


def describe_sample(manifest: Mapping[str, Any], benchmark: str, part: str, language: str) -> str:
    """`a sample of 100 of 2,106 items` for one part and language; empty if all items were measured."""
    items = available = 0
    for entry in manifest.get("data", ()):
        entry_part = str(entry["part"])
        if (entry["benchmark"], entry["language"]) != (benchmark, language):
            continue
        # Benchmarks that ask all items in several parts, as GEST does, have one entry with the part "all".
        if part in (entry_part, OVERALL) or entry_part == "all":
            items += int(entry.get("items") or 0)
            available += int(entry.get("available") or entry.get("items") or 0)
    return f"a sample of {items:,} of {available:,} items" if items < available else ""


def _is_sampled(entry: Mapping[str, Any]) -> bool:
    return bool(entry.get("available")) and int(entry["items"]) < int(entry["available"])
