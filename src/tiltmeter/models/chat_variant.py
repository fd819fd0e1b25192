"""Variants of a chat model: with a system prompt or a persona, or with thinking turned on or off.

A variant is treated as a separate model: it has its own name and fingerprint, so its replies are stored separately.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tiltmeter.errors import UsageError
from tiltmeter.options import ModelOptions

THINKING_START, THINKING_END = "<think>", "</think>"
# The marks before and after the thinking of other models: Magistral, Seed, gpt-oss.
_OTHER_MARKS = (
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
    ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
)
# A longer persona is named by its digest.
_LONGEST_NAME = 40
_NO_NAME = re.compile(r"[\[\],@/|+]")


@dataclass(frozen=True, slots=True)
class ChatVariant:
    """The system prompt and persona of a chat model, and whether it thinks before it replies.

    If `thinking` is None, a local model does not think, and a server uses its own default. `thinking_tokens` is the
    maximum length of the thinking; None means that thinking and answer share the maximum length of a reply.
    """

    system_prompt: str = ""
    thinking: bool | None = None
    persona: str = ""
    thinking_tokens: int | None = None

    def __post_init__(self) -> None:
        if self.thinking_tokens is not None and not self.thinking:
            raise UsageError("--thinking-tokens limits the thinking, which is not turned on; add --thinking on.")

    @classmethod
    def from_options(cls, options: ModelOptions) -> "ChatVariant":
        """Return the variant that is defined by the options of a run."""
        thinking = None if options.thinking is None else options.thinking == "on"
        return cls(options.system_prompt or "", thinking, options.persona or "", options.thinking_tokens)

    @property
    def suffix(self) -> str:
        """The end of the model's name, such as `[system 3a6dbe17, thinking on]`; empty without a variant.

        >>> ChatVariant("Be fair.", True).suffix, ChatVariant().suffix
        ('[system 3a6dbe17, thinking on]', '')
        >>> ChatVariant("", True, "You are a gardener.", 512).suffix
        '[persona You are a gardener, thinking on up to 512]'
        """
        parts = [f"system {self._digest[:8]}"] if self.system_prompt else []
        parts += [f"persona {self._persona_name}"] if self.persona else []
        limit = f" up to {self.thinking_tokens}" if self.thinking_tokens is not None else ""
        parts += [] if self.thinking is None else [f"thinking {'on' if self.thinking else 'off'}{limit}"]
        return f"[{', '.join(parts)}]" if parts else ""

    @property
    def fingerprint_parts(self) -> tuple[str, ...]:
        """The parts of the model's fingerprint; empty without a variant."""
        if not self.suffix:
            return ()
        parts = [f"system {self._digest if self.system_prompt else ''}", f"thinking {self.thinking}"]
        parts += [f"persona {_compute_digest(self.persona)}"] if self.persona else []
        parts += [f"thinking tokens {self.thinking_tokens}"] if self.thinking_tokens is not None else []
        return tuple(parts)

    @property
    def system_message(self) -> str:
        """The text of the system message: the system prompt, then the persona; empty without both."""
        return "\n\n".join(filter(None, (self.system_prompt, self.persona)))

    def compute_reply_limit(self, max_tokens: int) -> int:
        """Return the maximum length of thinking and answer together, if an answer may have `max_tokens` tokens."""
        return max_tokens + (self.thinking_tokens or 0)

    def build_messages(self, prompt: str) -> list[dict[str, str]]:
        """Return the conversation: the system message, if there is one, and the message `prompt`."""
        system = [{"role": "system", "content": self.system_message}] if self.system_message else []
        return [*system, {"role": "user", "content": prompt}]

    def describe(self) -> dict[str, Any]:
        """Return the entries of the run's manifest; empty without a variant."""
        entries: dict[str, Any] = {"system_prompt": self.system_prompt} if self.system_prompt else {}
        entries |= {"persona": self.persona} if self.persona else {}
        entries |= {} if self.thinking is None else {"thinking": self.thinking}
        return entries if self.thinking_tokens is None else {**entries, "thinking_tokens": self.thinking_tokens}

    @property
    def _digest(self) -> str:
        return _compute_digest(self.system_prompt)

    @property
    def _persona_name(self) -> str:
        name = self.persona.rstrip(".")
        is_short = len(name) <= _LONGEST_NAME and not _NO_NAME.search(name) and name.isprintable()
        return name if is_short else _compute_digest(self.persona)[:8]


def _compute_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def split_thinking(text: str, *, is_open: bool = False) -> tuple[str, str]:
    """Return the text of the thinking and the text of the answer of a reply.

    If the model reached the maximum length while it was thinking, the answer is empty. With `is_open`, the message
    already contains the mark at which the thinking begins, so a reply without the other mark is all thinking.

    >>> split_thinking("<think>A or B? B.</think>B")
    ('A or B? B.', 'B')
    >>> split_thinking("<think>A or"), split_thinking("B")
    (('A or', ''), ('', 'B'))
    >>> split_thinking("A or", is_open=True), split_thinking("[THINK]A or B?[/THINK]B")
    (('A or', ''), ('A or B?', 'B'))
    """
    for start, end in ((THINKING_START, THINKING_END), *_OTHER_MARKS):
        thinking, found, answer = text.rpartition(end)
        if found:
            return thinking.strip().removeprefix(start).strip(), answer.strip()
        before, found, unfinished = text.partition(start)
        if found:
            return unfinished.strip(), before.strip()
    return (text.strip(), "") if is_open else ("", text)


def list_special_marks(special_tokens: Iterable[str]) -> list[str]:
    """Return the special tokens that are part of the marks around the thinking; decoding a reply would drop them.

    >>> list_special_marks(["</s>", "[THINK]", "[/THINK]"])
    ['[/THINK]', '[THINK]']
    """
    marks = [mark for pair in ((THINKING_START, THINKING_END), *_OTHER_MARKS) for mark in pair]
    return sorted(token for token in set(special_tokens) if token and any(token in mark for mark in marks))
