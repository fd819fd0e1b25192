"""Save a trained head as a folder in the Hugging Face layout."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import nn

from tiltmeter.files import write_text
from tiltmeter.models.checkpoint import CONFIG
from tiltmeter.models.head_config import HEAD_FILE, KEY, HeadConfig
from tiltmeter.training.head_card import render_head_card
from tiltmeter.training.training_curves import render_curves

RECORD = "training.json"
CURVES = "curves.svg"
CARD = "README.md"


def save_head(module: nn.Module, base: Any, head: HeadConfig, out: Path, record: Mapping[str, Any]) -> None:
    """Write the weights, tokenizer, model card, training record and curves of a head to the folder `out`.

    The config is written last, because a folder with a config counts as a complete model.
    """
    part = out / ".part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    core: Any = module.core
    config = base.config
    # The weights of a GGUF file were dequantised when they were loaded, so the config must not name a quantisation.
    holder: Any
    for holder in (core, getattr(core, "base_model", None)):
        if getattr(holder, "hf_quantizer", None) is not None:
            holder.hf_quantizer = None
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    if head.adapter:
        # The option is set because training does not change the vocabulary. Without the option, PEFT would search for
        # the base model's config to check this.
        core.save_pretrained(str(part), save_embedding_layers=False)
        config.save_pretrained(str(part))
    else:
        core.save_pretrained(str(part))
    if getattr(base.tokenizer, "is_fast", False):
        # Truncation and padding were set when the pairs were tokenised. A resumed training does not tokenise again, so
        # they are removed to make the saved tokenizer equal in both cases.
        base.tokenizer.backend_tokenizer.no_truncation()
        base.tokenizer.backend_tokenizer.no_padding()
    base.tokenizer.save_pretrained(str(part))
    if head.reading == "mean":
        state = {name: tensor.float().contiguous() for name, tensor in module.head.state_dict().items()}  # type: ignore[union-attr]
        save_file(state, str(part / HEAD_FILE), metadata={"format": "pt"})
    write_text(part / RECORD, json.dumps(record, indent=2, ensure_ascii=False))
    if record.get("log"):
        write_text(part / CURVES, render_curves(record["log"]))
    write_text(part / CARD, render_head_card(base, head, record))
    values = json.loads((part / CONFIG).read_text(encoding="utf-8"))
    write_text(part / CONFIG, json.dumps({**values, KEY: head.to_json()}, indent=2, ensure_ascii=False))
    for path in sorted(part.iterdir(), key=lambda path: path.name == CONFIG):
        target = out / path.name
        if target.is_dir():
            shutil.rmtree(target)
        path.replace(target)
    part.rmdir()
