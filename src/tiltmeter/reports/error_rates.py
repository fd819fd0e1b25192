"""Sentences on the error rates of a run: the number of test families, and looks (tests on a growing sample)."""

from collections.abc import Iterable, Iterator, Mapping

from tiltmeter.measures.looks import Look
from tiltmeter.measures.records import Record
from tiltmeter.measures.verdict_rule import ALPHA, Families, count_test_families
from tiltmeter.reports.formatting import join_words


def describe_error_rate(records: Iterable[Record], families: Families) -> str:
    """Return a sentence with the maximum rate of false claims in verdicts; an empty text if no record is tested."""
    return describe_family_count(count_test_families(records, families))


def describe_family_count(count: int) -> str:
    """Return a sentence with the maximum rate of false claims in `count` test families; an empty text for 0.

    >>> describe_family_count(1)
    'Error rate: 1 test family, with a false claim in at most 5% of runs.'
    >>> describe_family_count(4).split(";")[0]
    'Error rate: 4 test families, each with a false claim in at most 5% of runs, so at most 20% for all of them'
    """
    if not count:
        return ""
    if count == 1:
        return f"Error rate: 1 test family, with a false claim in at most {ALPHA:.0%} of runs."
    return (
        f"Error rate: {count:,} test families, each with a false claim in at most {ALPHA:.0%} of runs, so at most "
        f"{min(1.0, count * ALPHA):.0%} for all of them; --family run corrects all tests together."
    )


def list_look_notes(looks: Iterable[Look], names: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield a sentence for each model and part whose p-values are corrected for looks (tests on a growing sample).

    Languages with the same looks share one sentence. `names` maps benchmarks to their display names in a report.

    >>> keys = ("bert", "stereoset", "intrasentence", "en", "published")
    >>> list(list_look_notes([Look(*keys, items=2106, earlier=(100, 200), is_complete=True)]))
    ['Look 3 of bert at stereoset/intrasentence:en, after 100 and 200 items: p-values are multiplied by 3.']
    """
    languages: dict[tuple[str, str], list[str]] = {}
    for look in looks:
        if look.factor > 1:
            part = "" if look.part == "all" else f"/{look.part}"
            place = f"Look {look.number} of {look.model} at {(names or {}).get(look.benchmark, look.benchmark)}{part}"
            languages.setdefault((place, _describe_look(look)), []).append(look.language)
    for (place, words), codes in languages.items():
        yield f"{place}:{','.join(codes)}{words}"


def _describe_look(look: Look) -> str:
    earlier = f", after {join_words([f'{items:,}' for items in look.earlier])} items" if look.earlier else ""
    larger = "" if look.is_complete else ", because larger samples may follow"
    return f"{earlier}: p-values are multiplied by {look.factor}{larger}."
