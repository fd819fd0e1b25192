"""The facts about a model from the manifest of a run, as texts for reports and model cards."""

from tiltmeter.reports.display_text import clip_text, format_label
from tiltmeter.reports.formatting import format_four_digits
from tiltmeter.runs.manifest import ComputeUse, ModelEntry

# fmt: off
HEADINGS = (
    "architecture", "parameters", "layers", "vocabulary", "size", "revision", "next-sentence head", "precision",
    "compute",
)
# fmt: on


def describe_model(entry: ModelEntry) -> dict[str, str]:
    """Return the known facts about a model; the keys are headings from HEADINGS.

    >>> compute = ComputeUse(("NVIDIA H200",), 0.25, 90.5, "measured by the driver")
    >>> describe_model(ModelEntry(name="gpt2", type="gpt2", dtype="float32", compute=compute))["compute"]
    'NVIDIA H200, 0.25 hours, 90.5 Wh (measured by the driver)'
    """
    known = {
        "architecture": f"{entry.architecture} ({entry.type})" if entry.architecture else None,
        "parameters": _format_number(entry.parameters),
        "layers": _format_number(entry.layers),
        "vocabulary": _format_number(entry.vocabulary),
        "size": format_bytes(entry.bytes) if isinstance(entry.bytes, int) else None,
        "revision": _format_revision(entry),
        "next-sentence head": _describe_head(entry),
        "precision": _describe_precision(entry),
        "compute": describe_compute(entry.compute),
    }
    return {heading: clip_text(str(known[heading])) for heading in HEADINGS if known[heading]}


def describe_compute(compute: ComputeUse | None) -> str:
    """Return a text with the hardware, hours and energy of a run; empty if the hardware is unknown."""
    if compute is None or not compute.hardware:
        return ""
    names = compute.hardware
    counted = [f"{names.count(name)} x {name}" if names.count(name) > 1 else name for name in dict.fromkeys(names)]
    energy, source = compute.energy_wh, compute.energy
    used = f"{format_four_digits(energy)} Wh ({source})" if energy is not None else f"energy {source}" if source else ""
    return ", ".join(filter(None, (*counted, _format_duration(compute.hours), used)))


def _format_duration(hours: float) -> str:
    """Return a duration in hours, or in seconds if it is below 0.05 hours.

    >>> _format_duration(0.25), _format_duration(0.001)
    ('0.25 hours', '3.6 s')
    """
    return f"{format_four_digits(hours)} hours" if hours >= 0.05 else f"{format_four_digits(hours * 3600)} s"


def format_bytes(size: int) -> str:
    """Return a size in GB, MB, kB or bytes; `size` is in bytes.

    >>> format_bytes(548105171), format_bytes(1999)
    ('548 MB', '2 kB')
    """
    for unit, power in (("GB", 9), ("MB", 6), ("kB", 3)):
        if size >= 10**power:
            return f"{size / 10**power:.3g} {unit}"
    return f"{size} bytes"


def _format_number(value: float | None) -> str | None:
    return f"{value:,}" if isinstance(value, int) else None


def _format_revision(entry: ModelEntry) -> str | None:
    adapter = entry.adapter
    if adapter is None:
        return entry.revision
    names = (entry.base, entry.revision, "+", adapter.get("name"), adapter.get("revision"))
    return " ".join(format_label(str(name)) for name in names if name)


def _describe_head(entry: ModelEntry) -> str | None:
    """Return the design of a trained next-sentence head and the name of its base model; None if there is no head.

    >>> _describe_head(ModelEntry(name="head", base="gpt2", head={"design": "recommended", "base_revision": None}))
    'recommended, trained from gpt2'
    """
    head = entry.head
    if head is None:
        return None
    names = (entry.base, head.get("base_revision"))
    return f"{head.get('design')}, trained from {' '.join(format_label(str(name)) for name in names if name)}"


def _describe_precision(entry: ModelEntry) -> str | None:
    quantized = entry.quantized
    if quantized is None:
        return entry.dtype
    if "bits" not in quantized:
        return f"{entry.dtype}, saved as {quantized.get('saved as')}"
    return f"{quantized['bits']} bits ({quantized.get('method')}, {quantized.get('by')})"
