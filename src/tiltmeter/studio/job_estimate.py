"""What a run will take, from what runs on this machine took before; no model is loaded and nothing is downloaded."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tiltmeter.benchmarks import benchmark_for
from tiltmeter.benchmarks.choosing.design import Design
from tiltmeter.benchmarks.choosing.prompts import prompts_for
from tiltmeter.forms import form_of
from tiltmeter.reports.formatting import count_of, listed
from tiltmeter.studio.folders import StudioWorkspace
from tiltmeter.studio.item_counts import count_items, local_items
from tiltmeter.studio.model_sizes import ModelSize, model_size
from tiltmeter.studio.run_request import RunRequest, form_of_spec
from tiltmeter.studio.timings import Timing, Timings

# By how much a run may be faster or slower than one like it: the same model and forms of items; the same model on
# other forms; another model of the same kind, scaled by size. Assumed, not measured.
_SPREAD = {"like it": 1.4, "same model": 2.5, "same kind": 3.0}
# Items of a benchmark whose messages to a chat model are counted; the others are taken to be alike.
_SAMPLE = 100
_MOST_TOKENS = 64


@dataclass(frozen=True, slots=True)
class ModelEstimate:
    """The seconds that one model will take, and what that is based on; None if nothing is known."""

    model: str
    low: float | None = None
    high: float | None = None
    basis: str = ""


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """What a run will take.

    `items` are those that are counted; `missing` the benchmarks whose files are not here. `requests` is for models
    behind servers, in words.
    """

    items: int
    missing: tuple[str, ...]
    models: tuple[ModelEstimate, ...]
    requests: str = ""

    @property
    def words(self) -> str:
        """The time in words."""
        known = [(m.low, m.high) for m in self.models if m.low is not None and m.high is not None]
        unknown = [m.model for m in self.models if m.low is None]
        if not known:
            return "No estimate of the time yet: it is measured on this machine with the first run."
        low, high = sum(low for low, _ in known), sum(high for _, high in known)
        text = f"About {duration(low)} to {duration(high)}"
        return f"{text}, without {listed(unknown)}, of which nothing is known yet." if unknown else f"{text}."


def estimate(request: RunRequest, workspace: StudioWorkspace) -> RunEstimate:
    """Estimate a request that was checked."""
    counts = {spec: count_items(spec, request.limit, workspace) for spec in request.on}
    items = sum(count for count in counts.values() if count is not None)
    forms = " ".join(sorted({form_of_spec(spec, workspace) for spec in request.on}))
    with Timings(workspace.state) as store:
        timings = store.newest()
    return RunEstimate(
        items,
        tuple(spec for spec, count in counts.items() if count is None),
        tuple(
            estimate_model(name, model_size(name, workspace), forms, request.protocol, items, timings)
            for name in request.models
        ),
        _requests(request, workspace, counts),
    )


def estimate_model(
    name: str, size: ModelSize, forms: str, protocol: str, items: int, timings: Sequence[Timing]
) -> ModelEstimate:
    """The time of one model, from the runs most like it; `size` and `forms` are those of the run to be estimated."""
    own = [timing for timing in timings if timing.model == name]
    scale = 1.0
    if alike := [timing for timing in own if (timing.forms, timing.protocol) == (forms, protocol)]:
        chosen, basis, spread = alike, f"it took part in {count_of(len(alike), 'run')} like this", _SPREAD["like it"]
    elif own:
        chosen, basis, spread = own, "it was measured on other items", _SPREAD["same model"]
    elif size.bytes and (others := [t for t in timings if t.bytes and t.kind == size.kind]):
        others = [timing for timing in others if timing.forms == forms] or others
        nearest = min(others, key=lambda timing: abs(math.log((timing.bytes or 1) / (size.bytes or 1))))
        chosen = [timing for timing in others if timing.model == nearest.model]
        scale = size.bytes / (nearest.bytes or 1)
        basis, spread = f"scaled by size from {nearest.model}", _SPREAD["same kind"]
    else:
        return ModelEstimate(name)
    seconds = [_seconds(timing, items, scale) for timing in chosen]
    return ModelEstimate(name, min(seconds) / spread, max(seconds) * spread, basis)


def _seconds(timing: Timing, items: int, scale: float) -> float:
    """The time for so many items at the pace of an earlier run."""
    questions = items * timing.questions / max(1, timing.items)
    pace = timing.asking_seconds / max(1, timing.asked)
    return timing.start_seconds + timing.end_seconds + questions * pace * scale


def _requests(request: RunRequest, workspace: StudioWorkspace, counts: dict[str, int | None]) -> str:
    """What servers are sent, in words; empty if no model is behind one."""
    served = [model for model in request.models if "://" in model]
    if not served:
        return ""
    if not request.chats:
        return "A server is sent one request for each distinct text that is measured, at most a few for each item."
    from tiltmeter.models.chat_server import estimated_tokens
    from tiltmeter.runs.budget import Budget, ChatOptions

    options = ChatOptions(price_in=request.price_in, price_out=request.price_out)
    requests = tokens_in = 0.0
    for spec, count in counts.items():
        items = local_items(spec, workspace) if count else None
        make = benchmark_for(form_of(items[0]).name).choice if items else None
        if not items or not count or make is None:
            continue
        step = max(1, len(items) // _SAMPLE)
        sample = items[::step]
        prompts = [
            prompt.question.prompt
            for item in sample
            for prompt in prompts_for(item.id, item.language, make(item), Design())
        ]
        share = count / len(sample) * len(served)
        requests += len(prompts) * share
        tokens_in += sum(map(estimated_tokens, prompts)) * share
    longest = 1 if request.protocol == "choice-probabilities" else _MOST_TOKENS
    total, messages = round(requests), round(tokens_in)
    budget = Budget(total, messages, total * longest, options.cost(messages, total * longest))
    return f"Servers are sent about {budget.words}; answers that are stored are not asked for again."


def duration(seconds: float) -> str:
    """A time in words, rounded.

    >>> duration(0.4), duration(42), duration(200), duration(9000)
    ('1 second', '42 seconds', '3 minutes', '2.5 hours')
    """
    if seconds < 90:
        return count_of(max(1, round(seconds)), "second")
    if seconds < 5400:
        return count_of(round(seconds / 60), "minute")
    return f"{seconds / 3600:.1f} hours"
