"""Requests, tokens and cost of asking a chat model: estimated before the first request, and counted during the run."""

from collections.abc import Sequence
from dataclasses import dataclass

from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models.model_protocol import ChatModel
from tiltmeter.options import ChatOptions
from tiltmeter.questions import ChatQuestion, Reply, SamplingOptions


@dataclass(frozen=True, slots=True)
class Budget:
    """The number of requests that a run still has to send, with their input tokens and maximum output tokens."""

    requests: int
    tokens_in: int
    tokens_out: int
    cost: float | None
    currency: str = "USD"

    @classmethod
    def create_empty(cls, options: ChatOptions) -> "Budget":
        """Return a budget without requests."""
        return cls(0, 0, 0, options.cost(0, 0), options.currency)

    @classmethod
    def estimate(
        cls,
        model: ChatModel,
        questions: Sequence[ChatQuestion],
        sampling: SamplingOptions,
        options: ChatOptions,
        probes: int = 0,
    ) -> "Budget":
        """Return the estimated budget of these questions and of `probes` more requests.

        Each of these requests is assumed to be as long as the longest question.
        """
        lengths = [model.tokens(question.prompt) for question in questions]
        requests = len(questions) + probes
        tokens_in = sum(lengths) + probes * max(lengths, default=0)
        # A server may have a limit of its own for the thinking, and a plug-in may have no variants.
        variant = getattr(model, "variant", None)
        thinking = getattr(model, "thinking_tokens", None) or getattr(variant, "thinking_tokens", None) or 0
        tokens_out = requests * (1 if sampling.probabilities else sampling.max_tokens + thinking)
        return cls(requests, tokens_in, tokens_out, options.cost(tokens_in, tokens_out), options.currency)

    def __add__(self, other: "Budget") -> "Budget":
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Budget(
            self.requests + other.requests,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            cost,
            self.currency,
        )

    @property
    def words(self) -> str:
        """The budget as text.

        >>> Budget(1200, 96_000, 76_800, 0.13).words
        '1,200 requests, about 96,000 input tokens and at most 76,800 output tokens, at most about 0.13 USD'
        """
        cost = f", at most about {self.cost:,.2f} {self.currency}" if self.cost is not None else ""
        return (
            f"{self.requests:,} requests, about {self.tokens_in:,} input tokens and at most "
            f"{self.tokens_out:,} output tokens{cost}"
        )

    def reject_exceeded_limits(self, options: ChatOptions) -> None:
        """Raise a UsageError if the run would exceed --max-requests or --max-cost."""
        if options.max_requests is not None and self.requests > options.max_requests:
            raise UsageError(
                f"This run would send {self.words}, which exceeds --max-requests {options.max_requests:,}. Nothing was "
                "sent; raise the limit, or use fewer items with --limit."
            )
        limit = options.cost_limit
        if limit is not None and self.cost is not None and self.cost > limit:
            default = "" if options.max_cost is not None else ", the default"
            raise UsageError(
                f"This run would send {self.words}, which exceeds --max-cost {limit:g}{default}. Nothing was sent; add "
                "--yes to accept the cost, raise the limit, use fewer items with --limit, or shorter answers with "
                "--max-tokens."
            )


class Spending:
    """The tokens and the cost of a run so far, checked against the maximum cost."""

    def __init__(self, options: ChatOptions, before: float = 0.0) -> None:
        """Start counting; `before` is the cost of the models that this run asked before the current one."""
        self._options, self._before = options, before
        self.tokens_in = self.tokens_out = 0
        self.estimated = False

    def add_reply(self, reply: Reply, model: ChatModel, prompt: str) -> None:
        """Count a reply, and raise a ModelError if the cost now exceeds the limit.

        Tokens that the server does not report are estimated.
        """
        self.tokens_in += model.tokens(prompt) if reply.tokens_in is None else reply.tokens_in
        written = f"{reply.thinking}{reply.text}"
        self.tokens_out += model.tokens(written) if reply.tokens_out is None else reply.tokens_out
        self.estimated |= reply.tokens_in is None or reply.tokens_out is None
        cost, limit = self.cost, self._options.cost_limit
        if cost is not None and limit is not None and self._before + cost > limit:
            raise ModelError(
                f"--max-cost {limit:g} is spent, because the server counts more tokens than were estimated. Answers so "
                "far are stored; run the same command with a higher limit or with --yes to continue."
            )

    @property
    def cost(self) -> float | None:
        """The cost so far; None if the options contain no prices."""
        return self._options.cost(self.tokens_in, self.tokens_out)

    def to_dict(self) -> dict[str, float | int | str | None]:
        """Return the tokens and the cost as entries for the manifest."""
        counted: dict[str, float | int | str | None] = {"tokens_in": self.tokens_in, "tokens_out": self.tokens_out}
        counted["cost"] = self.cost
        if self.cost is not None:
            counted["currency"] = self._options.currency
        return {**counted, "tokens_estimated": True} if self.estimated else counted
