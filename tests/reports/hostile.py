"""A data set with markup, scripts, bidirectional characters and very long texts."""

from pathlib import Path

from tests.reports import made
from tiltmeter.runs.result import Result

SCRIPT = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
BREAKOUT = "</script><script>window.hacked = 1</script>"
TURNED = "left \u202egnp.exe\u202c \u2066right\u2069"
TEMPLATE = "{{ 7 * 7 }} {% raw %} ${window.hacked = 1} javascript:alert(1)"
FLOOD = "flood " * 200_000
NAMES = (SCRIPT, BREAKOUT, TURNED, TEMPLATE, FLOOD)


def result(folder: Path) -> Result:
    items = [
        {
            "id": f"{number} {name}",
            "part": "intersentence",
            "language": "en",
            "bias_type": name,
            "target": f"{name} {number}",
            "target_term": name,
            "context": f"{name} {number}",
            "candidates": {role: f"{role} {name} {number}" for role in ("stereotype", "anti-stereotype", "unrelated")},
        }
        for number in range(3)
        for name in NAMES
    ]
    path = made.file_of(folder, items)
    return made.association([SCRIPT, f"{BREAKOUT}{TURNED}", FLOOD], str(path))
