"""Runs do not change process-wide state, and can be repeated without speed-ups."""

import gc
import locale
import logging
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import huggingface_hub.utils
import numpy as np
import pytest
import torch
import transformers
from typer.testing import CliRunner

from tests.models.tiny import CAUSAL, MASKED, SEQ2SEQ, made
from tests.models.tiny_tokenizers import with_template, word_level, word_piece
from tests.support.messages import raises_mentioning
from tiltmeter.cli import app
from tiltmeter.engine import answerer
from tiltmeter.errors import ModelError
from tiltmeter.models.checkpoint_model import open_model
from tiltmeter.runs.evaluate import evaluate

MODELS = {"masked": MASKED["bert"], "causal": CAUSAL["gpt2"], "seq2seq": SEQ2SEQ["t5"]}


def saved(kind: str, folder: Path) -> str:
    made(MODELS[kind]).save_pretrained(folder)
    tokenizer = word_piece()
    if kind == "causal":
        tokenizer = word_level(bos_token="<s>")
    elif kind == "seq2seq":
        tokenizer = with_template(
            word_level(pad_token="<pad>", eos_token="</s>", sep_token="<extra_id_0>"), "$A </s>", "</s>"
        )
    tokenizer.save_pretrained(folder)
    return str(folder)


def state() -> dict[str, Any]:
    """Return the process-wide state that a run could change."""
    return {
        "gc": (gc.isenabled(), gc.get_threshold()),
        "threads": (torch.get_num_threads(), torch.get_num_interop_threads()),
        "verbosity": transformers.utils.logging.get_verbosity(),
        "bars": transformers.utils.logging.is_progress_bar_enabled(),
        "hub bars": huggingface_hub.utils.are_progress_bars_disabled(),
        "dtype": torch.get_default_dtype(),
        "device": torch.get_default_device(),
        "grad": (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_anomaly_enabled()),
        "flags": (
            torch.are_deterministic_algorithms_enabled(),
            torch.get_float32_matmul_precision(),
            torch.backends.cudnn.benchmark,
            torch.backends.cudnn.deterministic,
            torch.backends.mkldnn.enabled,
            torch.backends.cuda.flash_sdp_enabled(),
            torch.backends.cuda.math_sdp_enabled(),
        ),
        "random": (torch.get_rng_state().tolist(), np.random.get_state()[1].tolist()),  # type: ignore[index, union-attr]
        "environment": dict(os.environ),
        "folder": os.getcwd(),  # noqa: PTH109
        "path": list(sys.path),
        "warnings": list(warnings.filters),
        "loggers": (logging.root.level, list(logging.root.handlers), logging.getLogger("transformers").propagate),
        "locale": locale.setlocale(locale.LC_ALL),
        "signal": signal.getsignal(signal.SIGINT),
        "streams": (sys.stdout, sys.stderr, sys.excepthook),
        "classes": {
            f"{kind}.{name}": getattr(part, name, None)
            for kind, part in _classes()
            for name in ("forward", "__call__", "compute_bias", "from_pretrained")
        },
    }


def _classes() -> Iterator[tuple[str, type]]:
    """Yield all module classes of the tiny models, which must not be patched."""
    for make in MODELS.values():
        for module in make().modules():
            yield f"{type(module).__module__}.{type(module).__name__}", type(module)


@contextmanager
def unchanged_state() -> Iterator[None]:
    torch.manual_seed(7)
    state()  # creates models, which draws random numbers
    torch.manual_seed(7)
    before = state()
    torch.manual_seed(7)
    random = torch.get_rng_state()
    yield
    assert torch.equal(torch.get_rng_state(), random)
    torch.manual_seed(7)
    after = state()
    assert {name: value for name, value in after.items() if value != before[name]} == {}


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("kind", MODELS)
def test_state_is_unchanged_after_a_run(kind: str, plain: bool, tmp_path: Path) -> None:
    folder = saved(kind, tmp_path / "m")
    evaluate(folder, "starter/intrasentence:en", limit=2)  # libraries are imported, caches filled
    with unchanged_state():
        evaluate(folder, "starter/intrasentence:en", limit=3, plain=plain)


def test_a_product_that_fails_in_torch_leaves_nothing_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = saved("masked", tmp_path / "m")
    true_start = answerer.Answerer.start_batch

    def start(self: Any, batch: Any) -> Any:
        torch._C._set_mkldnn_enabled(False)  # as torch does on a processor without bfloat16
        return true_start(self, batch)

    monkeypatch.setattr(answerer.Answerer, "start_batch", start)
    evaluate(folder, "starter/intrasentence:en", limit=2)
    assert torch.backends.mkldnn.enabled


@pytest.mark.parametrize("bars", [True, False])
def test_settings_of_transformers_are_restored(bars: bool, tmp_path: Path) -> None:
    folder, settings = saved("causal", tmp_path / "m"), transformers.utils.logging
    before = settings.get_verbosity(), settings.is_progress_bar_enabled()
    try:
        settings.set_verbosity_info()
        (settings.enable_progress_bar if bars else settings.disable_progress_bar)()
        open_model(folder).get_answerer("causal")
        evaluate(folder, "starter/intrasentence:en", limit=2)
        assert settings.get_verbosity() == logging.INFO
        assert settings.is_progress_bar_enabled() == bars
        assert huggingface_hub.utils.are_progress_bars_disabled() != bars
    finally:
        settings.set_verbosity(before[0])
        (settings.enable_progress_bar if before[1] else settings.disable_progress_bar)()


def test_state_is_unchanged_after_a_failed_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = saved("causal", tmp_path / "m")
    evaluate(folder, "starter/intrasentence:en", limit=2)
    true_start = answerer.Answerer.start_batch
    calls = []

    def fail(self: Any, batch: Any) -> Any:
        # Only the equivalence checks at load are answered.
        if hasattr(self, "speedups"):
            calls.append(batch)
            raise KeyboardInterrupt
        return true_start(self, batch)

    monkeypatch.setattr(answerer.Answerer, "start_batch", fail)
    with unchanged_state(), pytest.raises(KeyboardInterrupt):
        evaluate(folder, "starter/intrasentence:en", limit=3)
    assert calls
    (tmp_path / "m/model.safetensors").unlink()
    with unchanged_state(), raises_mentioning(ModelError, "weights"):
        evaluate(folder, "starter/intrasentence:en", limit=3)


@pytest.mark.parametrize("kind", MODELS)
def test_a_plain_run_recomputes_the_same_scores(kind: str, tmp_path: Path) -> None:
    folder = saved(kind, tmp_path / "m")
    fast = evaluate(folder, "starter/intrasentence:en", limit=6)
    plain = evaluate(folder, "starter/intrasentence:en", limit=6, plain=True, out=tmp_path / "plain")
    assert plain.manifest.request["plain"] is True
    assert "plain" not in fast.manifest.request
    (one,), (other,) = ([entry.details["answers"] for entry in run.manifest.models] for run in (fast, plain))
    assert one != other
    np.testing.assert_allclose(plain.scores["score"], fast.scores["score"], atol=1e-5, rtol=1e-5)
    assert plain.scores.drop(columns="score").equals(fast.scores.drop(columns="score"))


def test_plain_runs_of_a_loaded_model() -> None:
    given = made(MODELS["causal"]), word_level(bos_token="<s>")
    fast, plain = (evaluate(given, "starter/intrasentence:en", limit=3, plain=how) for how in (False, True))
    np.testing.assert_allclose(plain.scores["score"], fast.scores["score"], atol=1e-5, rtol=1e-5)
    assert fast.manifest.request["fingerprints"] != plain.manifest.request["fingerprints"]


def test_the_plain_option(tmp_path: Path) -> None:
    folder = saved("causal", tmp_path / "m")
    out = tmp_path / "run"
    done = CliRunner().invoke(
        app, ["run", folder, "--on", "starter/intrasentence:en", "--limit", "2", "--plain", "-o", str(out)]
    )
    assert done.exit_code == 0, done.output
    assert '"plain": true' in (out / "manifest.json").read_text(encoding="utf-8")


def test_the_manifest_has_exact_versions(tmp_path: Path) -> None:
    manifest = evaluate(saved("causal", tmp_path / "m"), "starter/intrasentence:en", limit=2).manifest
    for library in ("torch", "transformers", "tokenizers", "numpy"):
        assert manifest.versions[library] == version(library)
