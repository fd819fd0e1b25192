"""Notes on runs that used a sample of the items."""

from collections.abc import Iterator, Mapping, Sequence

from tiltmeter.measures.records import OVERALL
from tiltmeter.runs.manifest import DataEntry


def list_sample_notes(
    data: Sequence[DataEntry], benchmark: str | None = None, names: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Yield a note for each part of which only a sample was used; languages with equal counts share a note.

    `data` are the data entries of the manifest. `benchmark` restricts the notes to one benchmark. `names` maps
    benchmarks to their display names in a report.

    >>> entry = DataEntry(benchmark="stereoset", part="intrasentence", language="en", items=100, available=2106)
    >>> list(list_sample_notes([entry]))
    ['A sample: 100 of the 2,106 items of stereoset/intrasentence:en (--limit).']
    >>> from dataclasses import replace
    >>> list(list_sample_notes([entry, replace(entry, language="de")]))
    ['A sample: 100 of the 2,106 items in each language of stereoset/intrasentence:en,de (--limit).']
    """
    languages: dict[tuple[str, str], list[str]] = {}
    for entry in data:
        name = (names or {}).get(entry.benchmark, entry.benchmark)
        if (benchmark is None or name == benchmark) and entry.is_sample:
            part = "" if entry.part == "all" else f"/{entry.part}"
            count = f"{entry.items:,} of the {entry.available:,} items"
            languages.setdefault((count, f"{name}{part}"), []).append(entry.language)
    for (count, name), codes in languages.items():
        each = " in each language" if len(codes) > 1 else ""
        yield f"A sample: {count}{each} of {name}:{','.join(codes)} (--limit)."


def describe_sample(data: Sequence[DataEntry], benchmark: str, part: str, language: str) -> str:
    """Return a text such as `a sample of 100 of 2,106 items` for one part and language; "" if all items were used."""
    items = available = 0
    for entry in data:
        if (entry.benchmark, entry.language) != (benchmark, language):
            continue
        # Benchmarks with templates, such as GEST, have one entry, with the part "all", for all templates.
        if part in (entry.part, OVERALL) or entry.part == "all":
            items += entry.items
            available += entry.available or entry.items
    return f"a sample of {items:,} of {available:,} items" if items < available else ""
