"""Estimate the time and cost of a run from earlier runs; no model is loaded and nothing is downloaded."""

from collections.abc import Sequence
from dataclasses import dataclass

from tiltmeter.benchmarks import get_benchmark
from tiltmeter.benchmarks.benchmark import Benchmark
from tiltmeter.benchmarks.forced_choice.option_orders import OptionOrderDesign
from tiltmeter.benchmarks.forced_choice.prompts import build_prompts
from tiltmeter.forms import Item, get_item_form
from tiltmeter.models.option_scope import find_source
from tiltmeter.options.chat_options import SHORT_REPLY
from tiltmeter.reports.formatting import join_words
from tiltmeter.runs.time_estimates import ModelEstimate, estimate_model, format_duration
from tiltmeter.runs.timing_store import TimingStore
from tiltmeter.studio.item_counts import count_items, load_local_items
from tiltmeter.studio.model_sizes import find_model_size
from tiltmeter.studio.run_request import RunRequest, find_form
from tiltmeter.studio.studio_workspace import STUDIO_DATABASE, StudioWorkspace

# Approximate number of items in the sample from which the number of messages to a chat model is estimated.
_SAMPLE = 100


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """The estimate of the time and cost of a run.

    `items` is the number of items in local files. `missing` are the benchmarks whose files are not downloaded.
    `requests` is a text on the number of requests to servers.
    """

    items: int
    missing: tuple[str, ...]
    models: tuple[ModelEstimate, ...]
    requests: str = ""

    @property
    def description(self) -> str:
        """Return a sentence with the estimated time."""
        known = [(m.low, m.high) for m in self.models if m.low is not None and m.high is not None]
        unknown = [m.model for m in self.models if m.low is None]
        if not known:
            return "No time estimate yet; the speed is known only after the first run on this machine."
        low, high = sum(low for low, _ in known), sum(high for _, high in known)
        text = f"About {format_duration(low)} to {format_duration(high)}"
        return f"{text}, plus the time for {join_words(unknown)}, which is unknown." if unknown else f"{text}."


def estimate_run(request: RunRequest, workspace: StudioWorkspace) -> RunEstimate:
    """Estimate the time and cost of a request that was already validated."""
    counts = {spec: count_items(spec, request.limit, workspace) for spec in request.on}
    items = sum(count for count in counts.values() if count is not None)
    forms = " ".join(sorted({find_form(spec, workspace) for spec in request.on}))
    with TimingStore(workspace.state / STUDIO_DATABASE) as store:
        timings = store.list_newest_timings()
    return RunEstimate(
        items,
        tuple(spec for spec, count in counts.items() if count is None),
        tuple(
            estimate_model(name, find_model_size(name, workspace), forms, request.protocol, items, timings)
            for name in request.models
        ),
        _describe_requests(request, workspace, counts),
    )


def _describe_requests(request: RunRequest, workspace: StudioWorkspace, counts: dict[str, int | None]) -> str:
    """Return a text on the number of requests to servers; empty if no model is on a server.

    `counts` maps each benchmark to its number of items, or to None if its files are not downloaded.
    """
    served = [model for model in request.models if find_source(model) in ("endpoint", "chat server")]
    if not served:
        return ""
    if not request.is_for_chat_models:
        return "The server gets one request for each distinct text, which is a few requests for each item."
    from tiltmeter.models.chat_server import estimate_tokens
    from tiltmeter.options import ChatOptions
    from tiltmeter.runs.chat_budget import Budget

    options = ChatOptions(price_in=request.price_in, price_out=request.price_out)
    requests = tokens_in = tokens_out = 0.0
    for spec, count in counts.items():
        items = load_local_items(spec, workspace) if count else None
        benchmark = get_benchmark(get_item_form(items[0]).name) if items else None
        if not items or not count or benchmark is None or benchmark.choice is None:
            continue
        sample, prompts, longest = _build_sample(items, benchmark)
        share = count / sample * len(served)
        requests += len(prompts) * share
        tokens_in += sum(map(estimate_tokens, prompts)) * share
        tokens_out += len(prompts) * share * (1 if request.protocol == "choice-probabilities" else longest)
    total, messages, replies = round(requests), round(tokens_in), round(tokens_out)
    budget = Budget(total, messages, replies, options.cost(messages, replies))
    return f"Requests to servers: about {budget.words}. Stored answers are not requested again."


def _build_sample(items: Sequence[Item], benchmark: Benchmark) -> tuple[int, list[str], int]:
    """Return a number of items, the messages about them, and the maximum length of a reply in tokens."""
    design = OptionOrderDesign()
    if benchmark.messages is not None:  # items share messages, so all items are needed
        shared = benchmark.messages.build(items, items[0].language, design, 1)
        longest = max(SHORT_REPLY, benchmark.messages.count_tokens(items))
        return len(items), list({prompt.question.digest: prompt.question.prompt for prompt in shared}.values()), longest
    make = benchmark.choice
    sample = items[:: max(1, len(items) // _SAMPLE)] if make else []
    single = [prompt for item in sample if make for prompt in build_prompts(item.id, item.language, make(item), design)]
    return len(sample), [prompt.question.prompt for prompt in single], SHORT_REPLY
