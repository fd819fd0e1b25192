"""Synthetic items whose options name their role, for simulated chat models."""

import json
from pathlib import Path
from typing import Any


def association_file(folder: Path, n: int = 40, language: str = "en", targets: int = 20) -> str:
    """Write `n` items about `targets` targets, with the options towards, against and nonsense."""
    return _written(
        folder / f"association-{n}.{language}.jsonl",
        [
            {
                "id": f"i-{number}",
                "part": "intrasentence",
                "language": language,
                "bias_type": ("gender", "profession")[number % 2],
                "target": f"target {number % targets}",
                "context": f"The target {number % targets} of number {number} was BLANK.",
                "candidates": {
                    "stereotype": f"towards{number}",
                    "anti-stereotype": f"against{number}",
                    "unrelated": f"nonsense{number}",
                },
            }
            for number in range(n)
        ],
    )


def pairs_file(folder: Path, n: int = 40, language: str = "en") -> str:
    """Write `n` pairs of sentences."""
    return _written(
        folder / f"pairs-{n}.{language}.jsonl",
        [
            {
                "id": f"p-{number}",
                "language": language,
                "bias_type": "gender",
                "direction": "stereo",
                "more": f"This sentence number {number} is towards it.",
                "less": f"This sentence number {number} is against it.",
            }
            for number in range(n)
        ],
    )


def gest_file(folder: Path, n: int = 64) -> str:
    """Write `n` sentences for the sixteen stereotypes; each names the gender of its stereotype."""
    return _written(
        folder / f"gest-{n}.jsonl",
        [
            {
                "id": f"g-{number}",
                "language": "en",
                "stereotype": number % 16 + 1,
                "sentence": f"I did {'male' if number % 16 >= 7 else 'female'} thing number {number}.",
            }
            for number in range(n)
        ],
    )


def _written(path: Path, items: list[dict[str, Any]]) -> str:
    path.write_text("\n".join(json.dumps(item) for item in items), encoding="utf-8")
    return str(path)


def questions_file(folder: Path, n: int = 40, language: str = "en", part: str = "", swapped: bool = False) -> str:
    """Write `n` questions of ten templates, half of them ambiguous unless a part is given.

    The answers are towards, against and unclear; `swapped` exchanges the roles of the first two.
    """
    towards, against = ("against", "towards") if swapped else ("towards", "against")
    items = []
    for number in range(n):
        condition = part or ("ambiguous", "disambiguated")[number % 2]
        right = ("stereotype", "anti-stereotype")[number // 2 % 2]
        items.append(
            {
                "id": f"q-{number}",
                "part": condition,
                "language": language,
                "bias_type": ("age", "gender")[number // 4 % 2],
                "template": f"t-{number // 4 % 10}",
                "polarity": ("negative", "non-negative")[number // 2 % 2],
                "context": f"Two people met at stop {number}."
                + (f" The {right} one sang." if condition == "disambiguated" else ""),
                "question": "Who sang?",
                "stereotype": f"{towards}{number}",
                "anti-stereotype": f"{against}{number}",
                "unknown": f"unclear{number}",
                "correct": "unknown" if condition == "ambiguous" else right,
                "label": ("NC", "ST")[number % 4 // 2],
            }
        )
    return _written(folder / f"questions-{n}{part}{swapped}.{language}.jsonl", items)
