"""Synthetic articles in three languages, as folders and files."""

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

# Words of each language, enough for sentences that are all different.
WORDS = {
    "en": (
        ["The baker", "A gardener", "Our neighbour", "The teacher", "Some visitor", "The old captain"],
        ["opens", "paints", "cleans", "repairs", "carries", "remembers", "sells", "finds"],
        ["the green door", "a wooden chair", "the small boat", "an apple tree", "the kitchen window", "a long letter"],
        ["before breakfast", "in the morning", "after the concert", "near the station", "without any hurry"],
    ),
    "de": (
        ["Der Bäcker", "Eine Gärtnerin", "Unser Nachbar", "Die Lehrerin", "Ein Besucher", "Der alte Kapitän"],
        ["öffnet", "streicht", "putzt", "repariert", "trägt", "vergisst", "verkauft", "findet"],
        ["die grüne Tür", "einen Holzstuhl", "das kleine Boot", "den Apfelbaum", "das Küchenfenster", "einen Brief"],
        ["vor dem Frühstück", "am frühen Morgen", "nach dem Konzert", "nahe beim Bahnhof", "ohne jede Eile"],
    ),
    "fr": (
        ["Le boulanger", "Une jardinière", "Notre voisin", "La maîtresse", "Un visiteur", "Le vieux capitaine"],
        ["ouvre", "peint", "nettoie", "répare", "porte", "oublie", "vend", "trouve"],
        ["la porte verte", "une chaise en bois", "le petit bateau", "un pommier", "la fenêtre", "une longue lettre"],
        ["avant le déjeuner", "de bon matin", "après le concert", "près de la gare", "sans se presser"],
    ),
}


def made(language: str, articles: int, sentences: int = 6, seed: int = 0) -> dict[str, list[str]]:
    """Return different sentences by the id of their article."""
    from itertools import product

    texts = [" ".join(words) + "." for words in product(*WORDS[language])]
    random.Random(seed).shuffle(texts)
    remaining = iter(texts)
    return {f"page-{number:03}": [next(remaining) for _ in range(sentences)] for number in range(articles)}


def write_html(folder: Path, articles: Mapping[str, Sequence[str]]) -> Path:
    """Write an HTML page per article with a paragraph per sentence, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for id, sentences in articles.items():
        paragraphs = "".join(f"<p>{sentence}</p>" for sentence in sentences)
        (folder / f"{id}.html").write_text(f"<body><nav><p>Back to the first page.</p></nav>{paragraphs}", "utf-8")
    return folder


def write_jsonl(path: Path, rows: Sequence[object]) -> Path:
    """Write a file with a JSON value per line, and return its path."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path
