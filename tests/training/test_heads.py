"""Trained next-sentence heads: tiny models learn a synthetic task, and heads have the documented files and answers."""

import json
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from tests.support.messages import raises_mentioning
from tests.training.made_task import MODELS, article_number, make_model, make_pairs
from tiltmeter.engine.batch_rows import Row, RowQuestion
from tiltmeter.errors import ModelError, TiltmeterError
from tiltmeter.models.local_opener import open_local_model
from tiltmeter.models.next_sentence_model import NextSentenceModel
from tiltmeter.progress.progress import hide_progress
from tiltmeter.questions import Question
from tiltmeter.training import head_training
from tiltmeter.training.head_evaluation import evaluate_head
from tiltmeter.training.head_training import TrainedHead, TrainingOptions, train_next_sentence
from tiltmeter.training.lora import add_lora
from tiltmeter.training.training_recipe import TrainingRecipe

# In this task articles have no topic, so a sentence of another article may follow: no fresh negatives.
QUICK = TrainingRecipe(accumulation=1, batch=32, core_rate=3e-3, head_rate=3e-3, passes=2, fresh_negatives=False)
SHORT = TrainingRecipe(accumulation=1, batch=64, passes=1)
PAIRS = [("the rose is old .", "a tulip near the lawn ."), ("a lawn with a hedge .", "the soup is near the oven .")]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pairs(tmp_path_factory.mktemp("pairs"), 2_000)


def trained(model: str, pairs: Path, out: Path, recipe: TrainingRecipe = QUICK, **options: Any) -> TrainedHead:
    head = train_next_sentence(
        model, pairs, out, recipe=recipe, options=TrainingOptions(**{"checkpoints": 2, **options}), cpu=True
    )
    assert head is not None
    return head


def opened(folder: Path | str) -> NextSentenceModel:
    model = open_local_model(str(folder), device="cpu")
    assert isinstance(model, NextSentenceModel)
    return model


def logits(model: NextSentenceModel, pairs: list[tuple[str, str]] = PAIRS) -> np.ndarray[Any, Any]:
    module = model.get_answerer("next-sentence").model
    found = []
    for encoded in model.text.encode_pairs(pairs):
        inputs = {"input_ids": torch.tensor([encoded.ids]), "lengths": torch.tensor([len(encoded.ids)])}
        with torch.inference_mode():
            found.append(module(**inputs)["logits"][0].numpy())
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt2", "llama", "t5", "mt5", "roberta"])
def test_tiny_models_learn_the_task(name: str, pairs: Path, tmp_path: Path) -> None:
    out = tmp_path / "head"
    head = trained(make_model(name, tmp_path / "model"), pairs, out)
    (accuracy,) = head.accuracy
    assert accuracy.value >= 95
    assert accuracy.low < accuracy.value <= accuracy.high
    # The evaluation of the saved head in float32 gives the same result.
    (again,) = evaluate_head(str(out), pairs, device="cpu")
    assert again == accuracy
    first, second = logits(opened(out))
    assert first[1] > first[0]
    assert second[0] > second[1]


@pytest.fixture(scope="module")
def llama(pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The head of a tiny Llama."""
    folder = tmp_path_factory.mktemp("llama")
    trained(
        make_model("llama", folder / "model"),
        pairs,
        folder / "head",
        TrainingRecipe(accumulation=1, batch=32, core_rate=3e-3, passes=1),
    )
    return folder / "head"


def test_swapped_labels_swap_the_accuracy(llama: Path, tmp_path: Path) -> None:
    pairs = make_pairs(tmp_path / "pairs", 400, seed=5)
    (before,) = evaluate_head(str(llama), pairs, device="cpu")
    table = pq.read_table(pairs / "held-out.parquet")
    swapped = pa.array([1 - label for label in table["label"].to_pylist()], pa.int8())
    pq.write_table(table.set_column(4, "label", swapped), pairs / "held-out.parquet")
    (after,) = evaluate_head(str(llama), pairs, device="cpu")
    assert before.value > 80
    assert after.value == pytest.approx(100 - before.value)


def test_the_padding_side_of_the_tokenizer_does_not_matter(llama: Path, tmp_path: Path) -> None:
    pairs = make_pairs(tmp_path / "pairs", 300, seed=6)
    expected = evaluate_head(str(llama), pairs, device="cpu")
    config = llama / "tokenizer_config.json"
    before = config.read_text()
    config.write_text(json.dumps({**json.loads(before), "padding_side": "left"}))
    try:
        assert opened(llama).tokenizer.padding_side == "left"
        assert evaluate_head(str(llama), pairs, device="cpu") == expected
    finally:
        config.write_text(before)


def test_answers_do_not_depend_on_the_batch(llama: Path) -> None:
    model = opened(llama)
    answerer = model.get_answerer("next-sentence")
    questions = [Question(encoded.ids, ((0, 0),)) for encoded in model.text.encode_pairs(PAIRS)]
    rows = [Row(ids=question.ids, reads=[RowQuestion(question, range(len(question.ids)))]) for question in questions]
    alone = [answerer.answer_batch([row])[0, 0] for row in rows]
    assert answerer.answer_batch(rows)[0] == pytest.approx(alone, abs=1e-5)
    expected = torch.log_softmax(torch.from_numpy(logits(model)), dim=1)[:, 1]
    assert alone == pytest.approx(expected.tolist(), abs=1e-5)


@pytest.mark.parametrize("name", ["llama", "distilbert", "t5"])
def test_a_head_with_an_adapter_can_be_opened(
    name: str, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    def add_lora_as_for_a_gguf_file(core: torch.nn.Module, rank: int) -> torch.nn.Module:
        adapted: Any = add_lora(core, rank)
        adapted.peft_config["default"].base_model_name_or_path = str(tmp_path)  # a folder without a config
        return adapted

    monkeypatch.setattr(head_training, "add_lora", add_lora_as_for_a_gguf_file)
    base = make_model(name, tmp_path / "model")
    head = trained(base, pairs, tmp_path / "head", SHORT, lora=True, lora_rank=4)
    names = {path.name for path in head.out.iterdir()}
    assert {"adapter_model.safetensors", "config.json", "training.json", "curves.svg", "README.md"} <= names
    assert "model.safetensors" not in names
    assert not [str(found.message) for found in recwarn if "config file" in str(found.message)]
    (again,) = evaluate_head(str(head.out), pairs, device="cpu")
    assert again.value == pytest.approx(head.accuracy[0].value, abs=0.5)


def test_heads_have_a_config_and_a_card(tmp_path: Path, pairs: Path) -> None:
    assert set(MODELS) >= {"gpt2", "roberta", "t5"}
    head = trained(
        make_model("t5", tmp_path / "model"),
        pairs,
        tmp_path / "head",
        SHORT,
    )
    config = json.loads((head.out / "config.json").read_text())["next_sentence_head"]
    assert (config["reading"], config["step"], config["prefix"]) == ("label", 0, "binary classification: ")
    card = (head.out / "README.md").read_text()
    assert "| English |" in card
    assert "first decoding step" in card


def test_a_head_without_its_base_answers_next_sentence_questions(llama: Path, tmp_path: Path) -> None:
    alone = shutil.copytree(llama, tmp_path / "alone" / "deeper" / "head")
    model = opened(alone)
    assert model.fingerprint("next-sentence") == opened(llama).fingerprint("next-sentence")
    with raises_mentioning(ModelError, str(alone), "base model"):
        model.fingerprint("causal")
    with_base = opened(f"{llama.parent / 'model'}+{alone}")
    assert with_base.fingerprint("causal") == opened(llama).fingerprint("causal")


def test_another_base_is_rejected(llama: Path, tmp_path: Path) -> None:
    other = make_model("gpt2", tmp_path / "other")
    with raises_mentioning(ModelError, "other weights"):
        opened(f"{other}+{llama}").fingerprint("causal")


@pytest.mark.parametrize(
    ("entry", "part"),
    [({"design": "unknown"}, "'unknown'"), ({"new": 1}, "fields new"), ([], "cannot be read")],
)
def test_an_invalid_config_is_an_error(entry: Any, part: str, llama: Path, tmp_path: Path) -> None:
    broken = shutil.copytree(llama, tmp_path / "broken")
    config = json.loads((broken / "config.json").read_text())
    changed = {**config["next_sentence_head"], **entry} if isinstance(entry, dict) else entry
    (broken / "config.json").write_text(json.dumps({**config, "next_sentence_head": changed}))
    with raises_mentioning(TiltmeterError, part):
        open_local_model(str(broken))


@pytest.mark.parametrize("name", ["gpt2", "t5"])
def test_token_types_are_not_passed_to_models_without_them(name: str, pairs: Path, tmp_path: Path) -> None:
    base = Path(make_model(name, tmp_path / "model"))
    config = base / "tokenizer_config.json"
    names = ["input_ids", "token_type_ids", "attention_mask"]
    config.write_text(json.dumps({**json.loads(config.read_text()), "model_input_names": names}))
    head = trained(str(base), pairs, tmp_path / "head", SHORT, design="published")
    model = opened(head.out)
    (encoded, _) = model.text.encode_pairs(PAIRS)
    assert encoded.segments
    module = model.get_answerer("next-sentence").model
    ids, types = torch.tensor([encoded.ids]), torch.tensor([encoded.segments])
    with torch.inference_mode():
        plain = module(ids, torch.tensor([ids.shape[1]]))["logits"]
        assert torch.equal(module(ids, torch.tensor([ids.shape[1]]), types)["logits"], plain)


def test_a_base_of_the_hub_is_opened_at_the_revision_of_the_training(llama: Path, tmp_path: Path) -> None:
    from tiltmeter.models.next_sentence_model import find_head

    copied = shutil.copytree(llama, tmp_path / "head")
    config = json.loads((copied / "config.json").read_text())
    for base, revision, expected in (
        ("org/model", "abc", "org/model@abc"),
        ("org/model@main", "abc", "org/model@abc"),
        ("embedded", "0.1.2", "embedded"),
        ("../gone", None, "../gone"),
    ):
        config["next_sentence_head"] |= {"base": base, "base_revision": revision}
        (copied / "config.json").write_text(json.dumps(config))
        found = find_head(str(copied))
        assert found is not None
        assert found[2] == expected


@pytest.mark.parametrize("fresh", [True, False])
def test_sentences_of_validation_pairs_are_not_trained_on(fresh: bool, tmp_path: Path) -> None:
    validation = [name for name in map(str, range(2_000)) if article_number(name) % 100 == 0][:10]
    others = [name for name in map(str, range(2_000)) if article_number(name) % 100][:200]
    # The second sentences of negative pairs are from the other side: validation from training, and vice versa.
    rows = [
        {
            "language": "en",
            "article": article,
            "first": "the rose .",
            "second": own if label else other,
            "label": label,
            "group": article_number(article),
        }
        for articles, own, other in ((validation * 20, "soup", "oven"), (others, "oven", "soup"))
        for article in articles
        for label in (0, 1)
    ]
    for row in rows[::7]:
        if row["article"] in others and not row["label"]:
            row["second"] = "plate"
    pairs = make_pairs(tmp_path / "pairs", 100)
    schema = pq.read_table(pairs / "train.parquet").schema
    pq.write_table(pa.Table.from_pylist(rows, schema), pairs / "train.parquet")
    tokens: dict[str, list[int]] = {}
    counts: dict[str, Any] = {}
    recipe = TrainingRecipe(accumulation=1, batch=400, passes=2, fresh_negatives=fresh)

    def report(_progress: Any) -> None:
        for folder in (tmp_path / "head" / ".training").glob("*/ids.bin"):
            tokens[folder.parent.name] = np.fromfile(folder, dtype=np.int32).tolist()
            labels = np.fromfile(folder.with_name("labels.bin"), dtype=np.int8)
            counts[folder.parent.name] = (len(labels), labels.sum())

    base = make_model("llama", tmp_path / "base")
    options = TrainingOptions(checkpoints=1)
    train_next_sentence(
        base,
        pairs,
        tmp_path / "head",
        recipe=recipe,
        options=options,
        cpu=True,
        watch=lambda step: nullcontext(report) if step == "training" else hide_progress(step),
    )
    known = opened(tmp_path / "head").tokenizer.get_vocab()
    passes = {"pass-1", "pass-2"} if fresh else {"pass-1"}
    assert tokens.keys() == {*passes, "set-aside", "held-out"}
    for name in passes:
        assert known["oven"] in tokens[name]
        assert known["soup"] not in tokens[name]
        assert counts[name] == (400, 200)
    # In the first epoch, only negatives with sentences of validation articles are replaced.
    assert known["plate"] in tokens["pass-1"]
    assert known["soup"] in tokens["set-aside"]
    assert known["oven"] not in tokens["set-aside"]
    assert counts["set-aside"] == (400, 200)


def test_a_decoder_without_a_start_token_is_an_error(pairs: Path, tmp_path: Path) -> None:
    base = Path(make_model("t5", tmp_path / "model"))
    for name, key in (("config.json", "decoder_start_token_id"), ("tokenizer_config.json", "pad_token")):
        values = json.loads((base / name).read_text())
        assert values.pop(key) is not None
        (base / name).write_text(json.dumps(values))
    with raises_mentioning(ModelError, str(base), "decoder_start_token_id"):
        trained(str(base), pairs, tmp_path / "head")
    assert not (tmp_path / "head").exists()


def test_logits_that_are_not_finite_are_an_error(llama: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    broken = shutil.copytree(llama, tmp_path / "broken")
    state = load_file(broken / "head.safetensors")
    save_file({name: tensor * float("nan") for name, tensor in state.items()}, broken / "head.safetensors")
    pairs = make_pairs(tmp_path / "pairs", 100)
    with raises_mentioning(ModelError, "not finite", "--precision float32"):
        evaluate_head(str(broken), pairs, device="cpu")
