"""Results of chat models with context frames: the models of a run are asked again, with a line before each message."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tiltmeter.benchmarks.forced_choice.context_frames import STANDARD_FRAMES
from tiltmeter.options import ChatOptions, ModelOptions, RunSettings, build_options
from tiltmeter.progress.progress import ShowProgress
from tiltmeter.runs.evaluate import measure_models
from tiltmeter.runs.result import Result

FRAME = "frame"


def measure_frames(
    result: Result,
    request: Mapping[str, Any],
    *,
    limit: int | None,
    watch: ShowProgress,
    tell: Callable[[str], None],
) -> Iterator[tuple[str, Result]]:
    """Yield the result of a run without its frames, with an empty name, and the result with each standard frame.

    `request` are the options of the run; `limit` is the maximum number of items of each part and language.
    """
    settings, options = build_options(RunSettings, request), build_options(ModelOptions, request)
    is_smaller = limit is not None and (settings.limit is None or limit < settings.limit)
    chat = ChatOptions(
        full=request["design"] == "full",
        samples=request["samples"],
        temperature=request["temperature"],
        max_tokens=max(int(model.details["max_tokens"]) for model in result.manifest.models),
    )
    settings = replace(settings, limit=limit if is_smaller else settings.limit, chat=chat)

    def measure(frames: tuple[str, ...]) -> Result:
        asked = replace(settings, chat=replace(chat, frames=frames))
        return measure_models(request["models"], request["on"], asked, options, watch=watch, tell=tell)

    yield "", measure(()) if is_smaller or request.get("frames") else result
    for frame in STANDARD_FRAMES:
        tell(f"Asking again with the frame {frame}.")
        yield frame, measure((frame,))
