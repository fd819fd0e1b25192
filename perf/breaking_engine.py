"""A translation system for tests that damages placeholders in the ways of real systems."""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tiltmeter.making.placeholders import select_placeholders
from tiltmeter.translators.translator_protocol import Price

WORDS = {
    "the": "el", "cook": "cocinero", "was": "era", "very": "muy", "today": "hoy", "patient": "paciente",
    "gruff": "brusco", "square": "cuadrado", "and": "y", "gardener": "jardinero", "nurse": "enfermero",
    "is": "es", "singer": "cantante", "with": "con", "children": "niños", "in": "en", "morning": "mañana",
}  # fmt: skip
NAMES = ("plain", "underscores", "letters", "braces", "hashes", "tag")
TOKENS = {placeholder.name: placeholder.token for placeholder in select_placeholders("none", NAMES)}
ANY_TOKEN = re.compile("|".join(map(re.escape, sorted(TOKENS.values(), key=len, reverse=True))))

# The ways in which real systems damage placeholders, as listed in docs/how-to/making.md.
WAYS: dict[str, Callable[[str, str], str]] = {
    "kept": lambda text, _token: text,
    "translated": lambda text, token: text.replace(token, "en blanco"),
    "dropped": lambda text, token: " ".join(text.replace(token, "").split()),
    "doubled": lambda text, token: text.replace(token, f"{token} {token}", 1),
    "doubled apart": lambda text, token: f"{token} {text}",
    "split": lambda text, token: text.replace(token, f"{token[:2]} {token[2:]}"),
    "split by hyphen": lambda text, token: text.replace(token, f"{token[:2]}-{token[2:]}"),
    "lower case": lambda text, token: text.replace(token, token.lower()),
    "title case": lambda text, token: text.replace(token, token.title()),
    "spaces inside marks": lambda text, token: text.replace(token, re.sub(r"(?<=\W)(?=\w)|(?<=\w)(?=\W)", " ", token)),
    "full width": lambda text, token: text.replace(
        token, "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in token)
    ),
    "other brackets": lambda text, token: text.replace(token, token.translate(str.maketrans("{}<>", "[]()"))),
    "squeezed": lambda text, token: re.sub(rf"\s*{re.escape(token)}\s*", token, text),
    "hyphen after": lambda text, token: text.replace(token, f"{token}-"),
    "inflected": lambda text, token: text.replace(token, f"{token}es"),
    "entities": lambda text, token: text.replace(token, token.replace("<", "&lt;").replace(">", "&gt;")),
}


@dataclass
class BreakingEngine:
    """A word-by-word translation system; `way` is the damage to placeholders, or a mapping by placeholder.

    With `log`, every request is written to a file before and after its reply.
    """

    way: str | dict[str, str] = "kept"
    name: str = "apertium:eng-xyz"
    price: Price | None = None
    batch_size: int = 4
    log: Path | None = None
    sent: list[str] = field(default_factory=list)

    @property
    def key(self) -> str:
        return f"breaking {self.way}"

    def check(self, language: str) -> None:
        pass

    def translate(self, texts: Sequence[str], language: str) -> list[str]:  # noqa: ARG002
        self.sent += texts
        self._note("sent", texts)
        translations = [self._translate(text) for text in texts]
        self._note("answered", texts)
        return translations

    def _translate(self, text: str) -> str:
        token = match[0] if (match := ANY_TOKEN.search(text)) else ""
        held = "\ue000"
        words = re.sub(
            r"\w+", lambda match: WORDS.get(match[0].lower(), match[0]), text.replace(token, held) if token else text
        )
        if not token:
            return words
        way = self.way if isinstance(self.way, str) else self.way.get(_name(token), "kept")
        return WAYS[way](words.replace(held, token), token)

    def _note(self, event: str, texts: Sequence[str]) -> None:
        if self.log is not None:
            with self.log.open("a", encoding="utf-8") as file:
                file.write("".join(f"{event}\t{text}\n" for text in texts))
                file.flush()
                os.fsync(file.fileno())


def _name(token: str) -> str:
    return next(name for name, own in TOKENS.items() if own == token)
