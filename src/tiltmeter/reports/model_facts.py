"""What a manifest says of a model, in words: for reports and model cards."""

from collections.abc import Mapping
from typing import Any

from tiltmeter.reports.display_text import clip, format_label
from tiltmeter.reports.formatting import format_four_digits

# The heading of each fact.
# fmt: off
HEADINGS = (
    "architecture", "parameters", "layers", "vocabulary", "size", "revision", "next-sentence head", "precision",
    "compute",
)
# fmt: on


def describe_model(entry: Mapping[str, Any]) -> dict[str, str]:
    """The facts of a model by heading; those that are not known are left out.

    >>> describe_model({"type": "gpt2", "architecture": "GPT2LMHeadModel", "parameters": 124439808, "bytes": 548105171,
    ...     "dtype": "float32", "compute": {"hardware": ["NVIDIA H200"], "hours": 0.25, "energy_wh": 90.5, "energy":
    ...     "measured by the driver"}})["compute"]
    'NVIDIA H200, 0.25 hours, 90.5 Wh (measured by the driver)'
    """
    architecture = entry.get("architecture")
    known = {
        "architecture": f"{architecture} ({entry.get('type')})" if architecture else None,
        "parameters": _format_number(entry.get("parameters")),
        "layers": _format_number(entry.get("layers")),
        "vocabulary": _format_number(entry.get("vocabulary")),
        "size": format_bytes(entry["bytes"]) if isinstance(entry.get("bytes"), int) else None,
        "revision": _format_revision(entry),
        "next-sentence head": _describe_head(entry),
        "precision": _describe_precision(entry),
        "compute": describe_compute(entry.get("compute")),
    }
    return {heading: clip(str(known[heading])) for heading in HEADINGS if known[heading]}


def describe_compute(compute: Any) -> str:
    """The hardware, hours and energy of a run; empty if they are not known."""
    if not isinstance(compute, Mapping) or not compute.get("hardware"):
        return ""
    names = [str(name) for name in compute["hardware"]]
    counted = [f"{names.count(name)} x {name}" if names.count(name) > 1 else name for name in dict.fromkeys(names)]
    energy = compute.get("energy_wh")
    how = str(compute.get("energy") or "")
    used = f"{format_four_digits(energy)} Wh ({how})" if energy is not None else f"energy {how}" if how else ""
    return ", ".join(filter(None, (*counted, _format_duration(compute.get("hours", 0.0)), used)))


def _format_duration(hours: float) -> str:
    """Hours, or seconds of short runs.

    >>> _format_duration(0.25), _format_duration(0.001)
    ('0.25 hours', '3.6 s')
    """
    return f"{format_four_digits(hours)} hours" if hours >= 0.05 else f"{format_four_digits(hours * 3600)} s"


def format_bytes(size: int) -> str:
    """A size in bytes with a unit.

    >>> format_bytes(548105171), format_bytes(1999)
    ('548 MB', '2 kB')
    """
    for unit, power in (("GB", 9), ("MB", 6), ("kB", 3)):
        if size >= 10**power:
            return f"{size / 10**power:.3g} {unit}"
    return f"{size} bytes"


def _format_number(value: Any) -> str | None:
    return f"{value:,}" if isinstance(value, int) else None


def _format_revision(entry: Mapping[str, Any]) -> str | None:
    adapter = entry.get("adapter")
    if not isinstance(adapter, Mapping):
        return entry.get("revision")
    names = (entry.get("base"), entry.get("revision"), "+", adapter.get("name"), adapter.get("revision"))
    return " ".join(format_label(str(name)) for name in names if name)


def _describe_head(entry: Mapping[str, Any]) -> str | None:
    """The base model of a trained head, which answers within sentences.

    >>> _describe_head({"base": "gpt2", "head": {"design": "recommended", "base_revision": None}})
    'recommended, trained from gpt2'
    """
    head = entry.get("head")
    if not isinstance(head, Mapping):
        return None
    names = (entry.get("base"), head.get("base_revision"))
    return f"{head.get('design')}, trained from {' '.join(format_label(str(name)) for name in names if name)}"


def _describe_precision(entry: Mapping[str, Any]) -> str | None:
    quantized = entry.get("quantized")
    if not isinstance(quantized, Mapping):
        return entry.get("dtype")
    if "bits" not in quantized:
        return f"{entry.get('dtype')}, saved as {quantized.get('saved as')}"
    return f"{quantized['bits']} bits ({quantized.get('method')}, {quantized.get('by')})"
