"""Trained next-sentence heads: tiny models learn a made task, and the heads are what the docs say."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from tests.training.made_task import MODELS, make_model, make_pairs
from tiltmeter.engine.batch_rows import Row, RowQuestion
from tiltmeter.errors import ModelError, TiltmeterError
from tiltmeter.models.local_opener import open_local_model
from tiltmeter.models.next_sentence_model import NextSentenceModel
from tiltmeter.questions import Question
from tiltmeter.training import head_training
from tiltmeter.training.head_evaluation import evaluate_head
from tiltmeter.training.head_training import TrainedHead, TrainingOptions, train_next_sentence
from tiltmeter.training.lora import add_lora
from tiltmeter.training.training_recipe import TrainingRecipe

# In the made task articles have no topic, so that a sentence of another article may well follow.
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
def test_tiny_models_learn_a_made_task(name: str, pairs: Path, tmp_path: Path) -> None:
    out = tmp_path / "head"
    head = trained(make_model(name, tmp_path / "model"), pairs, out)
    (accuracy,) = head.accuracy
    assert accuracy.value >= 95
    assert accuracy.low < accuracy.value <= accuracy.high
    # Evaluated anew from the folder, in float32: the same.
    (again,) = evaluate_head(str(out), pairs, device="cpu")
    assert again == accuracy
    first, second = logits(opened(out))
    assert first[1] > first[0]
    assert second[0] > second[1]


@pytest.fixture(scope="module")
def llama(pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A head of a tiny Llama."""
    folder = tmp_path_factory.mktemp("llama")
    trained(
        make_model("llama", folder / "model"),
        pairs,
        folder / "head",
        TrainingRecipe(accumulation=1, batch=32, core_rate=3e-3, passes=1),
    )
    return folder / "head"


def test_swapped_labels_swap_the_accuracy(llama: Path, tmp_path: Path) -> None:
    right = make_pairs(tmp_path / "pairs", 400, seed=5)
    (before,) = evaluate_head(str(llama), right, device="cpu")
    table = pq.read_table(right / "held-out.parquet")
    swapped = pa.array([1 - label for label in table["label"].to_pylist()], pa.int8())
    pq.write_table(table.set_column(4, "label", swapped), right / "held-out.parquet")
    (after,) = evaluate_head(str(llama), right, device="cpu")
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


def test_the_batch_does_not_change_an_answer(llama: Path) -> None:
    model = opened(llama)
    answerer = model.get_answerer("next-sentence")
    questions = [Question(encoded.ids, ((0, 0),)) for encoded in model.text.encode_pairs(PAIRS)]
    rows = [Row(ids=question.ids, reads=[RowQuestion(question, range(len(question.ids)))]) for question in questions]
    alone = [answerer.answer([row])[0, 0] for row in rows]
    assert answerer.answer(rows)[0] == pytest.approx(alone, abs=1e-5)
    expected = torch.log_softmax(torch.from_numpy(logits(model)), dim=1)[:, 1]
    assert alone == pytest.approx(expected.tolist(), abs=1e-5)


@pytest.mark.parametrize("name", ["llama", "distilbert", "t5"])
def test_an_adapter_of_the_core_opens_as_a_head(
    name: str, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    def of_a_gguf_file(core: torch.nn.Module, rank: int) -> torch.nn.Module:
        adapted: Any = add_lora(core, rank)
        adapted.peft_config["default"].base_model_name_or_path = str(tmp_path)  # a folder without a config
        return adapted

    monkeypatch.setattr(head_training, "add_lora", of_a_gguf_file)
    base = make_model(name, tmp_path / "model")
    head = trained(base, pairs, tmp_path / "head", SHORT, lora=True, lora_rank=4)
    names = {path.name for path in head.out.iterdir()}
    assert {"adapter_model.safetensors", "config.json", "training.json", "curves.svg", "README.md"} <= names
    assert "model.safetensors" not in names
    assert not [str(found.message) for found in recwarn if "config file" in str(found.message)]
    (again,) = evaluate_head(str(head.out), pairs, device="cpu")
    assert again.value == pytest.approx(head.accuracy[0].value, abs=0.5)


def test_masked_causal_and_label_heads_describe_themselves(tmp_path: Path, pairs: Path) -> None:
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


def test_a_head_without_its_base_answers_which_sentence_follows(llama: Path, tmp_path: Path) -> None:
    alone = shutil.copytree(llama, tmp_path / "alone" / "deeper" / "head")
    model = opened(alone)
    assert model.fingerprint("next-sentence") == opened(llama).fingerprint("next-sentence")
    with pytest.raises(ModelError, match="base model of the next-sentence head"):
        model.fingerprint("causal")
    given = opened(f"{llama.parent / 'model'}+{alone}")
    assert given.fingerprint("causal") == opened(llama).fingerprint("causal")


def test_another_base_is_refused(llama: Path, tmp_path: Path) -> None:
    other = make_model("gpt2", tmp_path / "other")
    with pytest.raises(ModelError, match="trained from other weights"):
        opened(f"{other}+{llama}").fingerprint("causal")


@pytest.mark.parametrize(
    ("entry", "said"),
    [({"design": "unknown"}, "design is 'unknown'"), ({"new": 1}, "unknown fields new"), ([], "cannot be read")],
)
def test_an_unreadable_entry_is_named(entry: Any, said: str, llama: Path, tmp_path: Path) -> None:
    broken = shutil.copytree(llama, tmp_path / "broken")
    config = json.loads((broken / "config.json").read_text())
    changed = {**config["next_sentence_head"], **entry} if isinstance(entry, dict) else entry
    (broken / "config.json").write_text(json.dumps({**config, "next_sentence_head": changed}))
    with pytest.raises(TiltmeterError, match=said):
        open_local_model(str(broken))


@pytest.mark.parametrize("name", ["gpt2", "t5"])
def test_token_types_of_a_tokenizer_are_not_given_to_models_that_have_none(
    name: str, pairs: Path, tmp_path: Path
) -> None:
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


def test_a_base_on_the_hub_is_opened_at_the_revision_of_the_training(llama: Path, tmp_path: Path) -> None:
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
def test_no_sentence_of_a_pair_that_is_set_aside_is_trained_on(fresh: bool, tmp_path: Path) -> None:
    from tiltmeter.training.tokenised_pairs import compute_article_number

    asides = [name for name in map(str, range(2_000)) if compute_article_number(name) % 100 == 0][:10]
    others = [name for name in map(str, range(2_000)) if compute_article_number(name) % 100][:200]
    # Second sentences of other articles: those that are set aside have those of the others, and the other way round.
    rows = [
        {"language": "en", "article": article, "first": "the rose .", "second": own if label else other, "label": label}
        for articles, own, other in ((asides * 20, "soup", "oven"), (others, "oven", "soup"))
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
    train_next_sentence(base, pairs, tmp_path / "head", recipe=recipe, options=options, cpu=True, report=report)
    known = opened(tmp_path / "head").tokenizer.get_vocab()
    passes = {"pass-1", "pass-2"} if fresh else {"pass-1"}
    assert tokens.keys() == {*passes, "set-aside", "held-out"}
    for name in passes:
        assert known["oven"] in tokens[name]
        assert known["soup"] not in tokens[name]
        assert counts[name] == (400, 200)
    # A negative of the first pass stays as it is if it is not of an article that is set aside.
    assert known["plate"] in tokens["pass-1"]
    assert known["soup"] in tokens["set-aside"]
    assert known["oven"] not in tokens["set-aside"]
    assert counts["set-aside"] == (400, 200)


def test_a_decoder_whose_first_token_is_not_known_is_an_error(pairs: Path, tmp_path: Path) -> None:
    base = Path(make_model("t5", tmp_path / "model"))
    for name, key in (("config.json", "decoder_start_token_id"), ("tokenizer_config.json", "pad_token")):
        values = json.loads((base / name).read_text())
        assert values.pop(key) is not None
        (base / name).write_text(json.dumps(values))
    with pytest.raises(ModelError, match="no decoder_start_token_id in its config"):
        trained(str(base), pairs, tmp_path / "head")
    assert not (tmp_path / "head").exists()


def test_decisions_that_are_no_numbers_are_an_error(llama: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    broken = shutil.copytree(llama, tmp_path / "broken")
    state = load_file(broken / "head.safetensors")
    save_file({name: tensor * float("nan") for name, tensor in state.items()}, broken / "head.safetensors")
    pairs = make_pairs(tmp_path / "pairs", 100)
    with pytest.raises(ModelError, match="no numbers"):
        evaluate_head(str(broken), pairs, device="cpu")
