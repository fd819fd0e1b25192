"""What asking a chat model takes: requests, tokens and money, counted before the first request."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models.model_protocol import ChatModel
from tiltmeter.questions import ChatQuestion, Reply, SamplingOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """How chat models are asked, and what that may take.

    `full`: all wordings in both cycles of orders, without and with a neutral option, instead of two wordings.
    `temperature` is 0, or 1 for several `samples` of every answer. `max_tokens` is the longest answer. `price_in` and
    `price_out` are for a million tokens, in any currency; `max_cost` and `max_requests` refuse a run that takes more.
    """

    full: bool = False
    samples: int = 1
    temperature: float | None = None
    max_tokens: int = 64
    max_requests: int | None = None
    max_cost: float | None = None
    price_in: float | None = None
    price_out: float | None = None

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

    def build_sampling(self, *, probabilities: bool) -> SamplingOptions:
        """The settings of sampling."""
        if probabilities and (self.samples > 1 or self.temperature):
            raise UsageError("Probabilities are exact, so there is nothing to sample; leave out --samples.")
        temperature = self.temperature if self.temperature is not None else float(self.samples > 1)
        return SamplingOptions(temperature, self.max_tokens, probabilities)

    def case(self, sampling: SamplingOptions) -> str:
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


@dataclass(frozen=True, slots=True)
class Budget:
    """The requests of a run that are not stored yet, and their tokens: of messages, and at most of answers."""

    requests: int
    tokens_in: int
    tokens_out: int
    cost: float | None

    @classmethod
    def create_empty(cls, options: ChatOptions) -> "Budget":
        """No requests."""
        return cls(0, 0, 0, options.cost(0, 0))

    @classmethod
    def of(
        cls,
        model: ChatModel,
        questions: Sequence[ChatQuestion],
        sampling: SamplingOptions,
        options: ChatOptions,
        probes: int = 0,
    ) -> "Budget":
        """Count the tokens of these questions, of which so many are asked again, as `probes`; perhaps the longest."""
        lengths = [model.tokens(question.prompt) for question in questions]
        requests = len(questions) + probes
        tokens_in = sum(lengths) + probes * max(lengths, default=0)
        tokens_out = requests * (1 if sampling.probabilities else sampling.max_tokens)
        return cls(requests, tokens_in, tokens_out, options.cost(tokens_in, tokens_out))

    def __add__(self, other: "Budget") -> "Budget":
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Budget(
            self.requests + other.requests, self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out, cost
        )

    @property
    def words(self) -> str:
        """The budget in words.

        >>> Budget(1200, 96_000, 76_800, 0.13).words
        '1,200 requests, about 96,000 tokens of messages and at most 76,800 of answers: at most about 0.13'
        """
        cost = f": at most about {self.cost:,.2f}" if self.cost is not None else ""
        return (
            f"{self.requests:,} requests, about {self.tokens_in:,} tokens of messages and at most "
            f"{self.tokens_out:,} of answers{cost}"
        )

    def reject_excess(self, options: ChatOptions) -> None:
        """Raise a UsageError if the run would take more than it may."""
        if options.max_requests is not None and self.requests > options.max_requests:
            raise UsageError(
                f"This run would send {self.words}, which is over --max-requests {options.max_requests:,}. Nothing "
                "was sent; raise the limit, or ask about fewer items with --limit."
            )
        if options.max_cost is not None and self.cost is not None and self.cost > options.max_cost:
            raise UsageError(
                f"This run would send {self.words}, which is over --max-cost {options.max_cost:g}. Nothing was sent; "
                "raise the limit, ask about fewer items with --limit, or allow shorter answers with --max-tokens."
            )


class Spending:
    """The tokens that a server counts, held to the largest cost while a run goes on."""

    def __init__(self, options: ChatOptions, before: float = 0.0) -> None:
        """`before` is the cost of the models that were asked before, in the same run."""
        self._options, self._before = options, before
        self.tokens_in = self.tokens_out = 0
        self.estimated = False

    def add(self, reply: Reply, model: ChatModel, prompt: str) -> None:
        """Count a reply; a ModelError once the cost is over the limit, for estimates may be too low.

        What a server does not count is estimated.
        """
        self.tokens_in += model.tokens(prompt) if reply.tokens_in is None else reply.tokens_in
        self.tokens_out += model.tokens(reply.text) if reply.tokens_out is None else reply.tokens_out
        self.estimated |= reply.tokens_in is None or reply.tokens_out is None
        cost, limit = self.cost, self._options.max_cost
        if cost is not None and limit is not None and self._before + cost > limit:
            raise ModelError(
                f"The server counts more tokens than were estimated, and --max-cost {limit:g} is spent. Answers so far "
                "are kept; the same command with a higher limit goes on."
            )

    @property
    def cost(self) -> float | None:
        """The cost so far; None without prices."""
        return self._options.cost(self.tokens_in, self.tokens_out)

    def to_dict(self) -> dict[str, float | int | None]:
        """What the manifest says of it."""
        counted = {"tokens_in": self.tokens_in, "tokens_out": self.tokens_out, "cost": self.cost}
        return {**counted, "tokens_estimated": True} if self.estimated else counted
