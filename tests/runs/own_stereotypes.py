"""Files of GEST sentences with additional stereotypes."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

THREE = {17: ("masculine", "men are punctual"), 18: ("feminine", "women are thrifty"), 19: ("feminine", "women sing")}
TWENTY_FIVE = {17 + n: (("feminine", "masculine")[n % 2], f"made-up stereotype {n}") for n in range(25)}
# Two of GEST's and two others.
MIXED = {4: ("feminine", ""), 9: ("masculine", ""), 17: ("masculine", "men are punctual"), 18: ("feminine", "")}
WOMEN = {4: ("feminine", ""), 18: ("feminine", "women are thrifty")}


def own_items(stereotypes: Mapping[int, tuple[str, str]], per: int = 6) -> list[dict[str, Any]]:
    """Return `per` sentences for each stereotype, with its gender; half of them have a sub-stereotype."""
    items = []
    for number, (side, name) in stereotypes.items():
        own = {"side": side} | ({"stereotype_name": name} if name else {}) if number > 16 else {}
        for index in range(per):
            gender = "male" if side == "masculine" else "female"
            sub = {"sub_stereotype": f"kind {index % 2}"} if index < per // 2 else {}
            # The tiny models know all of these words except the first; all stereotypes have different texts.
            words = f"{gender} {'the cat ' * (number % 5)}{'fed ' * (number % 7)}{'well ' * index}".strip()
            text = f"I sang {words}."
            item = {"id": f"s{number}-{index}", "language": "en", "stereotype": number}
            items.append({**item, **own, **sub, "sentence": text})
    return items


def own_file(folder: Path, stereotypes: Mapping[int, tuple[str, str]], per: int = 6) -> Path:
    """Write these items to a file."""
    path = folder / f"own-{len(stereotypes)}.jsonl"
    path.write_text("\n".join(map(json.dumps, own_items(stereotypes, per))), encoding="utf-8")
    return path
