"""Estimates from earlier runs."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.studio.queued import wanted, workspace_with_items
from tests.support.messages import assert_mentions
from tiltmeter.benchmarks.association import build_choice
from tiltmeter.benchmarks.forced_choice.option_orders import OptionOrderDesign
from tiltmeter.benchmarks.forced_choice.prompts import build_prompts
from tiltmeter.datasets import load
from tiltmeter.datasets.dataset_loader import get_dataset
from tiltmeter.progress.progress import Progress
from tiltmeter.progress.progress_file import ProgressFile
from tiltmeter.runs.interim_values import InterimValue
from tiltmeter.runs.time_estimates import ModelSize, estimate_model
from tiltmeter.runs.timing_store import Timing, TimingStore
from tiltmeter.studio.item_counts import count_by_language, count_items
from tiltmeter.studio.job_estimate import estimate_run
from tiltmeter.studio.model_sizes import find_model_size
from tiltmeter.studio.run_request import RunRequest

# 10 s to start and end, and 1,000 questions in 100 s; five questions per item.
KNOWN = Timing("known", "causal", 1_000, "CPU", "association", "published", 200, 1_000, 9.0, 1_000, 100.0, 1.0)


@pytest.mark.parametrize(
    ("name", "size", "forms", "middle", "spread", "basis"),
    [
        ("known", ModelSize(1_000, "causal"), "association", 60.0, 1.4, "1 similar run"),
        ("known", ModelSize(1_000, "causal"), "pairs", 60.0, 2.5, "other items"),
        # Three times as large takes three times the 50 s, but the same start.
        ("new", ModelSize(3_000, "causal"), "association", 160.0, 3.0, "known, scaled by size"),
    ],
)
def test_the_most_similar_runs_are_used(
    name: str, size: ModelSize, forms: str, middle: float, spread: float, basis: str
) -> None:
    found = estimate_model(name, size, forms, "published", 100, [KNOWN])
    assert found.low == pytest.approx(middle / spread)
    assert found.high == pytest.approx(middle * spread)
    assert basis in found.basis


def test_there_is_no_estimate_for_another_kind_or_an_unknown_size() -> None:
    for size in (ModelSize(3_000, "masked"), ModelSize(None, "causal"), ModelSize()):
        assert estimate_model("new", size, "association", "published", 100, [KNOWN]).low is None


def test_the_nearest_size_is_used() -> None:
    large = replace(KNOWN, model="large", bytes=100_000)
    found = estimate_model("new", ModelSize(50_000, "causal"), "association", "published", 100, [KNOWN, large])
    assert "large" in found.basis


def test_a_run_is_estimated_after_the_first_run(tmp_path: Path) -> None:
    workspace = workspace_with_items(tmp_path)
    request = wanted("mine", "known", limit=3)
    assert "No time estimate" in estimate_run(request, workspace).description
    with TimingStore(workspace.state / "studio.sqlite") as timings:
        timings.add_timings([KNOWN])
    found = estimate_run(request, workspace)
    assert found.items == 3
    # 10 s and 15 questions of 0.1 s.
    assert_mentions(found.description, "8 seconds to 16")
    both = estimate_run(replace(request, models=("known", "org/unknown")), workspace)
    assert_mentions(both.description, "8 seconds to 16", "org/unknown")


def test_messages_to_a_chat_server_are_counted(tmp_path: Path) -> None:
    workspace = workspace_with_items(tmp_path)
    request = RunRequest(
        name="a", models=("chat:m@http://host/v1",), on=("starter:en,de",), limit=7, price_in=1.0, price_out=1.0
    )
    messages = sum(
        len(build_prompts(item.id, item.language, build_choice(item), OptionOrderDesign()))
        for language in ("en", "de")
        for part in ("intrasentence", "intersentence")
        for item in load("starter", part, language)[:7]
    )
    found = estimate_run(request, workspace)
    assert found.items == 28
    assert f"about {messages:,} requests" in found.requests
    assert "at most about 0." in found.requests
    twice = estimate_run(replace(request, models=(*request.models, "chat:n@http://host/v1")), workspace)
    assert f"about {2 * messages:,} requests" in twice.requests


def test_items_are_counted_only_in_local_files(tmp_path: Path) -> None:
    workspace = workspace_with_items(tmp_path)
    assert count_items("starter/intrasentence:en", None, workspace) == len(load("starter", "intrasentence", "en"))
    assert count_items("starter:en", 3, workspace) == 6
    assert count_items("starter-gest/template-1", 3, workspace) == 3
    assert count_items("association-5.en.jsonl", None, workspace) == 5
    assert count_items("stereoset:en", None, workspace) is None
    assert set(count_by_language(get_dataset("gest-pairs")).values()) == {None}
    assert count_by_language(get_dataset("stereoset"))["de"] == 4226  # from the catalogue
    assert count_by_language(get_dataset("starter-gest")) == {"en": 64}


def test_sizes_without_loading(tmp_path: Path) -> None:
    workspace = workspace_with_items(tmp_path)
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"architectures": ["BertForMaskedLM"]}))
    assert find_model_size("model", workspace) == ModelSize()
    (folder / "model.safetensors").write_bytes(b"x" * 700)
    assert find_model_size("model", workspace) == ModelSize(700, "masked")
    (tmp_path / "small.gguf").write_bytes(b"x" * 20)
    assert find_model_size("chat:small.gguf", workspace) == ModelSize(20, "chat")
    assert find_model_size("openai:m@http://host/v1", workspace) == ModelSize(None, "causal")


def test_progress_is_written_when_it_changes(tmp_path: Path) -> None:
    now = 0.0
    path = tmp_path / "progress.json"
    progress = ProgressFile(path, clock=lambda: now)
    progress.write_if_changed()
    with progress.watch_progress("known (causal)") as report:
        report(Progress(10, 100))
        now = 5.0
        report(Progress(20, 100))
        now = 9.0
        report(Progress(60, 100))
        progress.write_if_changed()
        state = json.loads(path.read_text())
        assert (state["phase"], state["answered"], state["remaining"]) == ("answering", 60, 4.0)
        written = path.stat().st_mtime_ns
        progress.write_if_changed()
        assert path.stat().st_mtime_ns == written
    (stage,) = progress.stages
    assert (stage.stored, stage.loaded, stage.at_load) == (10, 5.0, 20)


def test_interim_values_take_a_small_share_of_the_time(tmp_path: Path) -> None:
    now, calls = 0.0, 0

    def values() -> list[InterimValue]:
        nonlocal now, calls
        now, calls = now + 2.0, calls + 1
        return []

    progress = ProgressFile(tmp_path / "progress.json", clock=lambda: now)
    while now < 1_000:
        progress.record_interim_values(values)
        now += 0.1
    assert 20 <= calls <= 25  # 40 to 50 of 1,000 s
