"""Draw the picture of docs/explanation/reading-a-verdict.md: one released result for each kind of verdict.

TILTMETER_MIRROR=... python -m perf.verdict_picture docs/images/verdicts.svg
"""

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

import tiltmeter
from perf.released_verdicts import STEREOSET
from tiltmeter.measures import Record
from tiltmeter.measures.records import OVERALL

WIDTH, TOP, STEP = 1040, 56, 40
# The scale of SS: the first and the last value, and their places in the picture.
LOW, HIGH, LEFT, RIGHT = 15.0, 85.0, 330.0, 630.0
MARGIN, IDEAL = 5.0, 50.0
TEXT, GREY, AXIS = "#1c1f24", "#5c636e", "#c9cdd3"
COLOURS = {"towards": "#e07b00", "against": "#2f7fd1", "none": GREY}


class Example(NamedTuple):
    """A result of released predictions: the file, the name of the model in the picture, and the row of its run."""

    file: str
    model: str
    language: str
    part: str
    bias_type: str = ""


EXAMPLES = (
    Example("gpt2_GPT2LM_GPT2LM_d_en", "GPT-2", "en", "intrasentence"),
    Example("dbmdz_bert-base-turkish-cased_BertLM_BertNextSentence_tr", "Turkish BERT", "tr", "intersentence"),
    Example("THUMT_mGPT_GPT2LM_GPT2LM_d_de", "mGPT", "de", "intersentence"),
    Example("gpt2_GPT2LM_GPT2LM_d_en", "GPT-2", "en", "intersentence"),
    Example("bert-base-multilingual-cased_BertLM_BertNextSentence_en", "mBERT", "en", "intrasentence"),
    Example("gpt2_GPT2LM_GPT2LM_d_en", "GPT-2", "en", "intrasentence", "religion"),
    Example("THUMT_mGPT_GPT2LM_GPT2LM_d_es", "mGPT", "es", OVERALL),
    Example("dccuchile_bert-base-spanish-wwm-cased_BertLM_BertNextSentence_es", "BETO", "es", "intersentence"),
)


@cache
def score_file(name: str, language: str) -> tuple[Record, ...]:
    """Return the records of one file of released predictions."""
    path = Path(os.environ["TILTMETER_MIRROR"]) / STEREOSET / f"{name}.json"
    return tuple(tiltmeter.score_predictions(path, form="stereotypes-multi", on=f"stereoset:{language}").records)


def find_record(example: Example) -> Record:
    """Return SS of an example."""
    view, group = ("bias_type", example.bias_type) if example.bias_type else ("all", "all")
    wanted = ("SS", example.part, view, group)
    return next(
        record
        for record in score_file(example.file, example.language)
        if (record.measure, record.part, record.view, record.group) == wanted
    )


def place(value: float) -> float:
    """Return the place of a value on the scale."""
    return LEFT + (value - LOW) / (HIGH - LOW) * (RIGHT - LEFT)


def write_text(x: float, y: float, text: str, style: str = f'fill="{TEXT}"') -> str:
    """Return a text element."""
    return f'<text x="{x:.1f}" y="{y}" {style}>{escape(text)}</text>'


def draw_row(example: Example, record: Record, y: int) -> Iterator[str]:
    """Yield the elements of one result: its name and number, its ruler and its verdict."""
    verdict = record.verdict
    assert verdict is not None
    assert record.low is not None
    assert record.high is not None
    part = {"intrasentence": "within sentences", "intersentence": "between sentences", OVERALL: "both parts"}
    name = f"{example.model}, {example.language}, {example.bias_type or part[example.part]}"
    number = f"SS {record.value:.1f} [{record.low:.1f}, {record.high:.1f}], n={record.n:,}"
    colour = COLOURS[verdict.side]
    yield write_text(10, y - 3, name)
    yield write_text(10, y + 13, number, f'fill="{GREY}" font-size="12"')
    yield f'<path d="M{LEFT} {y}H{RIGHT}" stroke="{AXIS}" stroke-width="2"/>'
    yield f'<path d="M{place(IDEAL)} {y - 11}V{y + 11}" stroke="{TEXT}" stroke-width="1.5" stroke-dasharray="2 2.5"/>'
    yield (
        f'<path d="M{place(record.low):.1f} {y}H{place(record.high):.1f}" stroke="{colour}" stroke-width="6" '
        'stroke-linecap="round" opacity="0.55"/>'
    )
    yield f'<circle cx="{place(record.value):.1f}" cy="{y}" r="6" fill="{colour}"/>'
    size = f", {verdict.size} {verdict.margin}" if verdict.size else ""
    yield write_text(654, y + 5, verdict.short + size)


def draw_picture(records: list[tuple[Example, Record]]) -> str:
    """Return the picture as SVG."""
    bottom = TOP + STEP * len(records)
    left, right = place(IDEAL - MARGIN), place(IDEAL + MARGIN)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom}" font-family="system-ui, sans-serif" '
        f'font-size="15" role="img" aria-label="{len(records)} results on a ruler around 50, each with its verdict">',
        f'<rect width="{WIDTH}" height="{bottom}" fill="#ffffff"/>',
        f'<rect x="{left:.1f}" y="32" width="{right - left:.1f}" height="{bottom - 70}" fill="#e3e5e9" opacity="0.6"/>',
        write_text(place(IDEAL), 22, "margin: 45 to 55", f'text-anchor="middle" fill="{GREY}"'),
    ]
    for number, (example, record) in enumerate(records):
        lines += draw_row(example, record, TOP + STEP * number)
    small = f'text-anchor="middle" fill="{GREY}" font-size="12"'
    lines += [write_text(place(value), bottom - 16, f"{value:g}", small) for value in (LOW, IDEAL, HIGH)]
    return "\n".join([*lines, "</svg>"]) + "\n"


def main() -> None:
    """Write the picture to the file that the command line names."""
    (out,) = sys.argv[1:]
    Path(out).write_text(draw_picture([(example, find_record(example)) for example in EXAMPLES]), encoding="utf-8")


if __name__ == "__main__":
    main()
