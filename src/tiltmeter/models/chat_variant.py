"""Variants of a chat model: with a system prompt, or with thinking turned on or off.

A variant is treated as a separate model: it has its own name and fingerprint, so its replies are stored separately.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

from tiltmeter.options import ModelOptions

THINKING_START, THINKING_END = "<think>", "</think>"


@dataclass(frozen=True, slots=True)
class ChatVariant:
    """The system prompt of a chat model, and whether it thinks before it replies.

    If `thinking` is None, a local model does not think, and a server uses its own default.
    """

    system_prompt: str = ""
    thinking: bool | None = None

    @classmethod
    def from_options(cls, options: ModelOptions) -> "ChatVariant":
        """Return the variant that is defined by the options of a run."""
        return cls(options.system_prompt or "", None if options.thinking is None else options.thinking == "on")

    @property
    def suffix(self) -> str:
        """The end of the model's name, such as `[system 3a6dbe17, thinking on]`; empty without a variant.

        >>> ChatVariant("Be fair.", True).suffix, ChatVariant().suffix
        ('[system 3a6dbe17, thinking on]', '')
        """
        parts = [f"system {self._digest[:8]}"] if self.system_prompt else []
        parts += [] if self.thinking is None else [f"thinking {'on' if self.thinking else 'off'}"]
        return f"[{', '.join(parts)}]" if parts else ""

    @property
    def fingerprint_parts(self) -> tuple[str, ...]:
        """The parts of the model's fingerprint; empty without a variant."""
        if not self.suffix:
            return ()
        return f"system {self._digest if self.system_prompt else ''}", f"thinking {self.thinking}"

    def build_messages(self, prompt: str) -> list[dict[str, str]]:
        """Return the conversation: the system prompt, if there is one, and the message `prompt`."""
        system = [{"role": "system", "content": self.system_prompt}] if self.system_prompt else []
        return [*system, {"role": "user", "content": prompt}]

    def describe(self) -> dict[str, Any]:
        """Return the entries of the run's manifest; empty without a variant."""
        entries: dict[str, Any] = {"system_prompt": self.system_prompt} if self.system_prompt else {}
        return entries if self.thinking is None else {**entries, "thinking": self.thinking}

    @property
    def _digest(self) -> str:
        return hashlib.sha256(self.system_prompt.encode()).hexdigest()


def split_thinking(text: str) -> tuple[str, str]:
    """Return the text of the thinking and the text of the answer of a reply.

    If the model reached the maximum length while it was thinking, the answer is empty.

    >>> split_thinking("<think>A or B? B.</think>B")
    ('A or B? B.', 'B')
    >>> split_thinking("<think>A or"), split_thinking("B")
    (('A or', ''), ('', 'B'))
    """
    thinking, end, answer = text.rpartition(THINKING_END)
    if end:
        return thinking.strip().removeprefix(THINKING_START).strip(), answer.strip()
    start, found, unfinished = text.partition(THINKING_START)
    return (unfinished.strip(), start.strip()) if found else ("", text)
