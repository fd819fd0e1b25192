"""Facts about a model and the compute of its run, in the report and in the model card."""

from dataclasses import replace
from typing import Any

from huggingface_hub import ModelCard

from tests.runs.made import association_scores, run
from tiltmeter.reports.exports import FORMATS, ExportOptions
from tiltmeter.reports.model_facts import describe_model
from tiltmeter.reports.report_page import make_report
from tiltmeter.runs.evaluate import evaluate
from tiltmeter.runs.manifest import build_model_entry
from tiltmeter.runs.result import Result

COMPUTE = {"hardware": ["NVIDIA H200"] * 2, "hours": 0.5, "energy_wh": 651.25, "energy": "measured by the driver"}
FACTS: dict[str, Any] = {
    "type": "llama",
    "architecture": "LlamaForCausalLM",
    "parameters": 8_030_261_248,
    "layers": 32,
    "vocabulary": 128_256,
    "bytes": 16_060_556_376,
    "revision": "0e9e39f",
    "dtype": "bfloat16",
    "compute": COMPUTE,
}


def with_facts(**facts: Any) -> Result:
    result = run(association_scores("maker/one", seed=1))
    (entry,) = result.manifest.models
    return replace(result, manifest=replace(result.manifest, models=(build_model_entry({**entry.details, **facts}),)))


def facts_of(**details: Any) -> dict[str, str]:
    return describe_model(build_model_entry({"name": "m", **details}))


def test_in_words() -> None:
    assert facts_of(**FACTS) == {
        "architecture": "LlamaForCausalLM (llama)",
        "parameters": "8,030,261,248",
        "layers": "32",
        "vocabulary": "128,256",
        "size": "16.1 GB",
        "revision": "0e9e39f",
        "precision": "bfloat16",
        "compute": "2 x NVIDIA H200, 0.5 hours, 651.2 Wh (measured by the driver)",
    }
    quantised = {"bits": "4", "method": "nf4", "by": "bitsandbytes 0.50.2"}
    adapted = {"base": "gpt2", "revision": "abc", "adapter": {"name": "my-lora", "revision": None}}
    known = facts_of(dtype="float32", quantized=quantised, **adapted)
    assert known == {"revision": "gpt2 abc + my-lora", "precision": "4 bits (nf4, bitsandbytes 0.50.2)"}
    assert facts_of(dtype="float32", quantized={"saved as": "gguf"}) == {"precision": "float32, saved as gguf"}
    not_measured = {"hardware": ["Some CPU"], "hours": 0.25, "energy": "not measured"}
    assert facts_of(compute=not_measured)["compute"] == "Some CPU, 0.25 hours, energy not measured"
    assert facts_of(kind="causal") == {}


def test_in_the_model_card() -> None:
    text = FORMATS["model-card"](with_facts(**FACTS), ExportOptions())
    card = ModelCard(text)
    assert card.data.eval_results
    assert "- parameters: 8,030,261,248\n" in card.text
    assert "- compute: 2 x NVIDIA H200, 0.5 hours, 651.2 Wh (measured by the driver)\n" in card.text
    assert FORMATS["model-card"](with_facts(), ExportOptions()).endswith("---\n")


def test_in_the_report() -> None:
    html, _ = make_report([("one", with_facts(**FACTS))])
    for fact in facts_of(**FACTS).values():
        assert f"<td><bdi>{fact}</bdi></td>" in html
    assert "<h4>Models</h4>" not in make_report([("one", with_facts())])[0]


def test_of_a_real_run(causal: str) -> None:
    result = evaluate(causal, "starter:en", limit=20)
    text = FORMATS["model-card"](result, ExportOptions())
    assert "- architecture: GPT2LMHeadModel (gpt2)" in text
    assert "energy not measured" in text
