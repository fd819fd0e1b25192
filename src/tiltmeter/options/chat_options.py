"""Options of chat models: how they are asked, and what that may cost."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tiltmeter.errors import UsageError
from tiltmeter.options.option_field import define_option
from tiltmeter.options.option_values import COUNT, FLAG, NUMBER

if TYPE_CHECKING:
    from tiltmeter.questions import SamplingOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """How chat models are asked, and what that may cost.

    `full`: all wordings in both cycles of orders, without and with a neutral option, instead of two wordings.
    `temperature` is 0, or 1 for several `samples` of every answer. `max_tokens` is the longest answer. `price_in` and
    `price_out` are for a million tokens, in any currency; a run that would exceed `max_cost` or `max_requests` is
    rejected.
    """

    full: bool = define_option(
        False,
        "Chat models: all orders and wordings, with and without a neutral option.",
        FLAG,
        name="full_design",
        changes_results=True,
    )
    max_tokens: int = define_option(64, "Chat models: the longest answer.", COUNT, changes_results=True)
    samples: int = define_option(1, "Chat models: answers to each message.", COUNT, changes_results=True)
    temperature: float | None = define_option(
        None, "Chat models: 0 by default, 1 for several samples.", NUMBER, changes_results=True
    )
    max_requests: int | None = define_option(
        None, "Chat models: reject a run that sends more.", COUNT, studio="Chat: maximum number of requests"
    )
    max_cost: float | None = define_option(None, "Chat models: reject a run that may cost more.", NUMBER)
    price_in: float | None = define_option(
        None, "The price of a million tokens of messages.", NUMBER, studio="Chat: price of a million tokens of messages"
    )
    price_out: float | None = define_option(
        None, "The price of a million tokens of answers.", NUMBER, studio="Chat: price of a million tokens of answers"
    )

    def __post_init__(self) -> None:
        if self.samples < 1 or self.max_tokens < 1:
            raise UsageError("A chat model gives at least one sample of at least one token.")
        if self.temperature is not None and not 0 <= self.temperature < math.inf:
            raise UsageError(f"A temperature of {self.temperature:g} is not a number from 0 upwards.")
        for name in ("max_requests", "max_cost", "price_in", "price_out"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise UsageError(f"--{name.replace('_', '-')} {value:g} is not a number from 0 upwards.")
        if self.samples > 1 and self.temperature == 0:
            raise UsageError(f"At temperature 0 all {self.samples} samples are alike; give a --temperature above 0.")
        if self.max_cost is not None and (self.price_in is None or self.price_out is None):
            raise UsageError("--max-cost needs prices for a million tokens: --price-in and --price-out.")

    def build_sampling(self, *, probabilities: bool) -> "SamplingOptions":
        """The settings of sampling."""
        if probabilities and (self.samples > 1 or self.temperature):
            raise UsageError("Probabilities are exact, so there is nothing to sample; leave out --samples.")
        from tiltmeter.questions import SamplingOptions  # numpy takes a moment to import

        temperature = self.temperature if self.temperature is not None else float(self.samples > 1)
        return SamplingOptions(temperature, self.max_tokens, probabilities)

    def case(self, sampling: "SamplingOptions") -> str:
        """What sets this protocol apart from the default one, in a few words.

        >>> ChatOptions(full=True, samples=5).case(ChatOptions(samples=5).build_sampling(probabilities=False))
        'full, temperature 1, 5 samples'
        """
        parts = ["full"] if self.full else []
        parts += [f"temperature {sampling.temperature:g}"] if sampling.temperature else []
        parts += [f"{self.samples} samples"] if self.samples > 1 else []
        return ", ".join(parts)

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """The price of so many tokens; None without prices."""
        if self.price_in is None or self.price_out is None:
            return None
        return (tokens_in * self.price_in + tokens_out * self.price_out) / 1_000_000
