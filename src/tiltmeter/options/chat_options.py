"""Options of chat models: prompts, sampling, and cost limits."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tiltmeter.errors import UsageError
from tiltmeter.options.option_field import define_option
from tiltmeter.options.option_values import COUNT, FLAG, NAMES, NUMBER, TEXT

if TYPE_CHECKING:
    from tiltmeter.questions import SamplingOptions


# The maximum length of an answer that chooses an option, in tokens.
SHORT_REPLY = 64
# The maximum cost of a run without `max_cost` and `accept_cost`, in the currency of the prices.
DEFAULT_MAX_COST = 5.0
FRAMES = ("year", "place", "audience")
# These characters separate the parts of a protocol's name.
_SEPARATORS = ",/+|"
_LONGEST_FRAME = 60


def split_frame(frame: str) -> tuple[str, str]:
    """Return the name and the value of a context frame such as `year=1950`; raise a UsageError for other texts.

    >>> split_frame("place=Lima")
    ('place', 'Lima')
    """
    name, _, value = (part.strip() for part in frame.partition("="))
    if name not in FRAMES or not value:
        raise UsageError(f"--frame {frame} is no frame; write {', '.join(f'{known}=…' for known in FRAMES)}.")
    if len(value) > _LONGEST_FRAME or not value.isprintable() or set(value) & set(_SEPARATORS):
        raise UsageError(
            f"--frame {frame}: the value may have {_LONGEST_FRAME} characters, without {' '.join(_SEPARATORS)} and "
            "line breaks; choose another value."
        )
    return name, value


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """Options for the prompts and the sampling of chat models, and for the maximum cost of a run.

    With `full`, all wordings of the instruction are used. The answer options of each wording are shown in all cyclic
    orders of the list and of the reversed list, without and with a neutral option. The default is two wordings and no
    neutral option. `temperature` defaults to 0, or to 1 if there are several `samples` per message. `max_tokens` is the
    maximum length of an answer; it defaults to `SHORT_REPLY`, or to the length that a benchmark needs. `frames` are
    lines before each message, such as `year=1950`, at most one of each type in `FRAMES`. `price_in` and `price_out` are
    prices per million tokens in `currency`. A run that could exceed `max_cost` (by default `DEFAULT_MAX_COST`) or
    `max_requests` is rejected before the first request. With `accept_cost`, there is no maximum cost.
    """

    full: bool = define_option(
        False,
        "Chat models: use all wordings and option orders, without and with a neutral option (more requests).",
        FLAG,
        name="full_design",
        changes_results=True,
    )
    max_tokens: int | None = define_option(
        None,
        "Chat models: maximum length of an answer in tokens; default 64, or as many as the lists of a benchmark need.",
        COUNT,
        changes_results=True,
    )
    samples: int = define_option(1, "Chat models: number of answers to each message.", COUNT, changes_results=True)
    temperature: float | None = define_option(
        None, "Chat models: sampling temperature; default 0, or 1 with several samples.", NUMBER, changes_results=True
    )
    frames: Sequence[str] = define_option(
        (),
        "Chat models: begin each message with a context: `year=1950`, `place=Lima` or `audience=teachers`.",
        NAMES,
        name="frame",
        metavar="NAME=VALUE",
        changes_results=True,
    )
    max_requests: int | None = define_option(
        None,
        "Chat models: reject a run that would send more requests than this number.",
        COUNT,
        studio="Chat: maximum number of requests",
    )
    max_cost: float | None = define_option(
        None,
        f"Chat models: reject a run that could cost more than this, unless --yes is given; the default is "
        f"{DEFAULT_MAX_COST:g} (needs --price-in and --price-out).",
        NUMBER,
    )
    price_in: float | None = define_option(
        None, "Chat models: price per million input tokens.", NUMBER, studio="Chat: price per million input tokens"
    )
    price_out: float | None = define_option(
        None, "Chat models: price per million output tokens.", NUMBER, studio="Chat: price per million output tokens"
    )
    currency: str = define_option("USD", "Chat models: the currency of --price-in and --price-out.", TEXT)
    accept_cost: bool = False

    def __post_init__(self) -> None:
        if self.samples < 1 or (self.max_tokens is not None and self.max_tokens < 1):
            raise UsageError("--samples and --max-tokens must be at least 1.")
        if self.temperature is not None and not 0 <= self.temperature < math.inf:
            raise UsageError(f"--temperature {self.temperature:g} must be a finite number of at least 0.")
        for name in ("max_requests", "max_cost", "price_in", "price_out"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise UsageError(f"--{name.replace('_', '-')} {value:g} must be a finite number of at least 0.")
        names = [split_frame(frame)[0] for frame in self.frames]
        if len(set(names)) < len(names):
            raise UsageError("--frame names the same type of context twice; give each type once.")
        if self.samples > 1 and self.temperature == 0:
            raise UsageError(f"At temperature 0 all {self.samples} samples are identical; set --temperature above 0.")
        if self.max_cost is not None and (self.price_in is None or self.price_out is None):
            raise UsageError("--max-cost needs prices per million tokens: set --price-in and --price-out.")

    def build_sampling(self, *, probabilities: bool, needed_tokens: int = 0) -> "SamplingOptions":
        """Return the sampling options; `probabilities` requests token probabilities instead of a sampled text.

        `needed_tokens` is the length of an answer that the benchmarks need, if it is larger than the default.
        """
        if probabilities and (self.samples > 1 or self.temperature):
            raise UsageError("Probabilities are computed without sampling; remove --samples and --temperature.")
        from tiltmeter.questions import SamplingOptions  # this module imports numpy, which is slow

        temperature = self.temperature if self.temperature is not None else float(self.samples > 1)
        longest = self.max_tokens if self.max_tokens is not None else max(SHORT_REPLY, needed_tokens)
        return SamplingOptions(temperature, longest, probabilities)

    def describe_design(self, sampling: "SamplingOptions") -> str:
        """Return the options that differ from the defaults as text, which becomes part of the protocol's name.

        >>> options = ChatOptions(full=True, samples=5)
        >>> options.describe_design(options.build_sampling(probabilities=False))
        'full, temperature 1, 5 samples'
        """
        parts = ["full"] if self.full else []
        parts += [f"temperature {sampling.temperature:g}"] if sampling.temperature else []
        parts += [f"{self.samples} samples"] if self.samples > 1 else []
        parts += [f"frame {name}={value}" for name, value in sorted(map(split_frame, self.frames))]
        return ", ".join(parts)

    @property
    def cost_limit(self) -> float | None:
        """The maximum cost of a run; None if there is no maximum, or if no prices are known."""
        if self.accept_cost or self.price_in is None or self.price_out is None:
            return None
        return DEFAULT_MAX_COST if self.max_cost is None else self.max_cost

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """Return the cost of these numbers of input and output tokens; None if `price_in` or `price_out` is not set."""
        if self.price_in is None or self.price_out is None:
            return None
        return (tokens_in * self.price_in + tokens_out * self.price_out) / 1_000_000
