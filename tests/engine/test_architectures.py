"""Tiny models of many architectures give the scores of a slow reference implementation: the short form of the suite."""

import pytest

from perf.architectures.catalogue import Architecture, find_architectures, list_architectures
from perf.architectures.checking import Material, check, prepare_material
from perf.architectures.making import MIDDLE, SMALL, Variant, make_config
from perf.architectures.short import list_short

SHORT = list_short()


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Material:
    return prepare_material(tmp_path_factory.mktemp("items"), few=1)


@pytest.mark.slow
@pytest.mark.parametrize(("architecture", "variant"), SHORT, ids=[f"{a.name}, {v}" for a, v in SHORT])
def test_scores_are_those_of_the_naive_implementation(
    architecture: Architecture, variant: Variant, material: Material
) -> None:
    outcome = check(architecture, variant, material)
    assert outcome is not None
    assert outcome.verdict == "agrees", outcome
    assert outcome.scores >= 10


def test_a_wrong_score_is_found(material: Material, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiltmeter.benchmarks.association.DEFAULT_CASE", "c")
    monkeypatch.setattr("perf.architectures.naive._with_mark", lambda context: f"{context}!")
    outcome = check(find_architectures(["causal/gpt2"])[0], SMALL, material)
    assert outcome is not None
    assert outcome.verdict == "wrong"
    assert "intersentence" in outcome.where


def test_the_suite_covers_transformers_own_mappings() -> None:
    names = [architecture.name for architecture in list_architectures()]
    assert len(names) == len(set(names)) >= 150
    assert {"masked/bert", "causal/gpt2", "seq2seq/t5", "next-sentence/bert"} <= set(names)
    assert "masked/bart" not in names  # it is the encoder-decoder


def test_windows_are_of_the_variants_size(material: Material) -> None:
    tokenizer = material.tokenizers["causal"]
    mistral, gpt2 = (find_architectures([name])[0] for name in ("causal/mistral", "causal/gpt2"))
    assert make_config(mistral, tokenizer, MIDDLE).sliding_window == MIDDLE.window
    assert make_config(mistral, tokenizer, SMALL).vocab_size == len(tokenizer)
    assert make_config(gpt2, tokenizer, MIDDLE) is None
