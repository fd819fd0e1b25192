"""A fake translation system."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tiltmeter.errors import ModelError
from tiltmeter.translators.translator_protocol import Price


def shout(text: str) -> str:
    return text.upper()


@dataclass
class FakeTranslator:
    """Records the sentences in `sent`, and fails at the sentence `breaks_at`."""

    name: str = "fake"
    key: str = "fake 1"
    price: Price | None = None
    batch_size: int = 2
    say: Callable[[str], str] = shout
    breaks_at: str | None = None
    sent: list[str] = field(default_factory=list)

    def check(self, language: str) -> None:
        pass

    def translate(self, texts: Sequence[str], language: str) -> list[str]:
        if self.breaks_at in texts:
            raise ModelError("The line went dead.")
        self.sent += texts
        return [self.say(text) for text in texts]
