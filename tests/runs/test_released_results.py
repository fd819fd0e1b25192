"""The published sets: which results the names of the pinned files give, and that released files can be scored."""

import json
from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.benchmarks.gest import TEMPLATES, list_parts
from tiltmeter.datasets import DATASETS
from tiltmeter.errors import DownloadError
from tiltmeter.runs.released_results import ReleasedResult, load_published_sets
from tiltmeter.runs.translation.translation_tasks import load_target


def result(name: str, of: str) -> ReleasedResult:
    (found,) = (one for one in load_published_sets()[of].results if one.name == name)
    return found


def test_each_released_file_belongs_to_one_result() -> None:
    for published in load_published_sets().values():
        files = [(one.language, file) for one in published.results for file in one.files]
        assert len(files) == len(set(files))
        assert len({one.name for one in published.results}) == len(published.results)
    counts = {name: len(published.results) for name, published in load_published_sets().items()}
    assert counts == {
        "stereoset-languages": 44,
        "stereoset-original": 11,
        "stereoset-ptbr": 4,
        "gest-english": 33,
        "gest-slavic": 45,
        "gest-translations": 32,
    }


def test_models_languages_and_files_are_read_from_names() -> None:
    french = result("flaubert_flaubert_base_cased_BertLM_BertNextSentence_fr", "stereoset-languages")
    assert (french.model, french.benchmark, french.language) == ("flaubert/flaubert_base_cased", "stereoset", "fr")
    assert result("EnsembleModel_", "stereoset-original").model == "EnsembleModel"
    masked, causal = result("xlm-roberta-base", "gest-english"), result("gpt2", "gest-english")
    assert (len(masked.files), len(causal.files)) == (len(TEMPLATES), len(list_parts("causal")))
    assert result("xlm-v-base_cs", "gest-slavic").model == "facebook/xlm-v-base"
    slovak = result("deepl_sk", "gest-translations")
    assert (slovak.model, slovak.language, len(slovak.files)) == ("deepl", "sk", 1)


def test_the_data_sets_exist(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_MIRROR", str(mirror))
    for published in load_published_sets().values():
        for benchmark, language in published.portions:
            if benchmark == "gest-mt":
                assert load_target(f"gest-mt:{language}", "1.0").tasks
            else:
                assert language in DATASETS[benchmark].languages


@pytest.mark.parametrize(
    ("of", "name"),
    [
        ("stereoset-languages", "gpt2__GPT2LM_orig_en"),
        ("stereoset-original", "gpt2_ModelNSP_GPT2LM"),
        ("gest-english", "phi-1"),
        ("gest-translations", "deepl_sk"),
    ],
)
def test_released_files_are_scored(of: str, name: str, mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_MIRROR", str(mirror))
    one = result(name, of)
    scored = one.fetch_and_score()
    assert {entry.model for entry in scored.manifest.asked} == {one.model}
    assert {(entry.benchmark, entry.language) for entry in scored.manifest.asked} == {(one.benchmark, one.language)}
    assert scored.records


def test_an_absent_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILTMETER_MIRROR", str(tmp_path))
    with raises_mentioning(DownloadError, "results/predictions/gpt2__GPT2LM_orig_en.json", str(tmp_path)):
        result("gpt2__GPT2LM_orig_en", "stereoset-languages").fetch_and_score()


@pytest.mark.parametrize(
    ("original", "other", "part"),
    [
        ("gpt2_ModelNSP_GPT2LM", "gpt2_GPT2LM_GPT2LM_d_en", "intrasentence"),
        ("bert-base-cased_BertNextSentence_BertLM", "bert-base-cased_BertLM_BertNextSentence_en", "intrasentence"),
        ("bert-base-cased_BertNextSentence_BertLM", "bert-base-cased_BertLM_BertNextSentence_en", "intersentence"),
    ],
)
def test_two_publications_have_the_same_english_items(original: str, other: str, part: str, mirror: Path) -> None:
    """The original predictions are scored on `stereoset:en`: equal ids, and equal scores of models in both releases."""
    paths = (result(original, "stereoset-original").files[0], result(other, "stereoset-languages").files[0])
    ours, theirs = (
        {entry["id"]: entry["score"] for entry in json.loads((mirror / file.name).read_text(encoding="utf-8"))[part]}
        for file in paths
    )
    assert ours.keys() == theirs.keys()
    different = [name for name, score in ours.items() if abs(score - theirs[name]) > 1e-3 * abs(score)]
    assert len(different) <= 3
