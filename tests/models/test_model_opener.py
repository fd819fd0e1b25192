"""The types of objects that a run accepts as models."""

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tiltmeter
from tests.models.tiny import CAUSAL, made
from tests.models.tiny_tokenizers import word_level
from tests.support.messages import raises_mentioning
from tests.test_registry import install, python
from tiltmeter.errors import UsageError
from tiltmeter.models import model_opener, scheme
from tiltmeter.models.model_opener import list_given_models, open_given_model
from tiltmeter.models.model_protocol import Model
from tiltmeter.models.scheme import Scheme, find_scheme
from tiltmeter.models.tokenizer_text import TokenizerText
from tiltmeter.options import ModelOptions

FAKE = """
from types import SimpleNamespace
import numpy as np
from tests.models.tiny_tokenizers import word_level
from tiltmeter.models.scheme import Scheme
from tiltmeter.models.tokenizer_text import TokenizerText

class Fake:
    kinds = ("causal",)
    max_length = None
    def __init__(self, name, options=None):
        self.name = f"fake:{name}"
        self.text = TokenizerText(word_level(bos_token="<s>"), SimpleNamespace(), "causal")
        self.closed = False
    def fingerprint(self, kind):
        return f"fake {self.name} {kind}"
    def describe(self):
        return {"type": "fake", "kind": "causal"}
    def answer(self, questions, *, kind, store, names, report):
        return {q.digest: np.array([-float(token) for _, token in q.wanted], np.float32) for q in questions}
    def close(self):
        self.closed = True

SCHEME = Scheme(open=Fake)
"""


@pytest.fixture
def fake() -> Any:
    space: dict[str, Any] = {}
    exec(FAKE, space)
    return space["Fake"]("one")


def test_a_run_with_any_object_that_implements_the_protocol(fake: Any, tmp_path: Path) -> None:
    assert isinstance(fake, Model)
    result = tiltmeter.evaluate(fake, "starter-pairs:en", limit=3, out=tmp_path / "run")
    assert set(result.scores["model"]) == {"fake:one"}
    (about,) = [model.details for model in result.manifest.models]
    assert about == {
        "name": "fake:one",
        "type": "fake",
        "kind": "causal",
        "answers": {"causal": "fake fake:one causal"},
        "tokens": 54,
    }
    assert result.manifest.request["fingerprints"] == {"fake:one": "fake fake:one causal"}
    assert fake.closed
    # The likelihood of a sentence is the sum over its tokens, for any model.
    first = result.scores[result.scores["role"] == "more"].iloc[0]
    (item,) = [item for item in tiltmeter.datasets.load("starter-pairs", None, "en") if item.id == first["item"]]
    (encoded,) = fake.text.encode([item.more])
    assert first["score"] == -float(np.sum(encoded.ids))


def test_a_run_with_a_loaded_model_and_with_its_folder(tmp_path: Path) -> None:
    module, tokenizer = made(CAUSAL["gpt2"]), word_level(bos_token="<s>")
    module.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    result = tiltmeter.evaluate([(module, tokenizer), tmp_path / "model"], "starter:en", limit=4)
    loaded, stored = (table.drop(columns="model") for _, table in result.scores.groupby("model", sort=False))
    assert loaded.reset_index(drop=True).equals(stored.reset_index(drop=True))
    about = {entry.name: entry.details for entry in result.manifest.models}
    assert about["GPT2LMHeadModel"]["weights"] != about[str(tmp_path / "model")]["weights"]
    assert (about["GPT2LMHeadModel"]["device"], about["GPT2LMHeadModel"]["dtype"]) == ("cpu", "float32")


def test_another_loaded_model_does_not_overwrite_a_run(tmp_path: Path) -> None:
    tokenizer = word_level(bos_token="<s>")
    for seed in (1, 1):
        tiltmeter.evaluate((made(CAUSAL["gpt2"], seed), tokenizer), "starter:en", limit=2, out=tmp_path / "run")
    with raises_mentioning(UsageError, str(tmp_path / "run"), "--force"):
        tiltmeter.evaluate((made(CAUSAL["gpt2"], 2), tokenizer), "starter:en", limit=2, out=tmp_path / "run")


def test_two_models_with_the_same_name(fake: Any) -> None:
    with raises_mentioning(UsageError, "Two models", "fake:one"):
        tiltmeter.evaluate([fake, fake], "starter-pairs:en")


def test_objects_that_are_not_models() -> None:
    for given in (3, [3], ("bert", 3)):
        with raises_mentioning(UsageError, "int is not", "(model, tokenizer)"):
            list_given_models(given, ModelOptions())  # type: ignore[arg-type]
    assert list_given_models(("bert", "gpt2"), ModelOptions()) == [
        "bert",
        "gpt2",
    ]  # two names, not a model with its tokenizer


def test_a_package_provides_a_source_of_models_by_its_scheme(tmp_path: Path) -> None:
    install(tmp_path, "faked", FAKE, "[tiltmeter.models]\nfake = faked:SCHEME")
    root = str(Path(__file__).parents[2])
    use = (
        f"import sys; sys.path.insert(0, {root!r})\n"
        "import tiltmeter\n"
        "result = tiltmeter.evaluate('fake:two:three', 'starter-pairs:en', limit=2)\n"
        "print(set(result.scores['model']), result.manifest.request['models'])"
    )
    done = python(tmp_path, "-c", use)
    assert done.stdout == "{'fake:two:three'} ['fake:two:three']\n", done.stderr


def test_a_module_of_the_package_provides_its_scheme(monkeypatch: pytest.MonkeyPatch, fake: Any) -> None:
    from tiltmeter.models import model_kinds

    assert find_scheme("model_kinds:x") is None  # a module, but not a source of models
    scheme._find_scheme.cache_clear()
    monkeypatch.setattr(model_kinds, "SCHEME", Scheme(open=lambda rest, _options: {"x": fake}[rest]), raising=False)
    assert open_given_model("model_kinds:x", ModelOptions()) is fake
    scheme._find_scheme.cache_clear()


def test_a_scheme_that_opens_another_kind_of_model_is_named(monkeypatch: pytest.MonkeyPatch, fake: Any) -> None:
    wrong = Scheme(open=lambda _rest, _options: fake, is_chat=True)
    monkeypatch.setattr(model_opener, "find_scheme", lambda _name: wrong)
    with raises_mentioning(UsageError, "'wrong'", "is_chat=True", "Fake", "ChatModel"):
        open_given_model("wrong:x", ModelOptions())


def test_a_run_uses_only_the_protocol() -> None:
    imported = set()
    for name in ("evaluate", "run_preparation", "language_model_run", "result_assembly"):
        source = Path(tiltmeter.__file__).with_name("runs").joinpath(f"{name}.py").read_text(encoding="utf-8")
        nodes = ast.walk(ast.parse(source))
        imported |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    models = {name.removeprefix("tiltmeter.models.") for name in imported if name.startswith("tiltmeter.models")}
    assert models == {"model_opener", "option_scope", "model_protocol", "reply_store"}
    assert "tiltmeter.engine.device_workers" not in imported


def test_the_text_side_knows_of_a_next_sentence_head() -> None:
    tokenizer = word_level(mask_token="[M]")
    assert not TokenizerText(tokenizer, None, "masked").next_sentence
    assert TokenizerText(tokenizer, None, "masked", next_sentence=True).next_sentence
