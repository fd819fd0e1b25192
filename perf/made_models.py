"""Full-size models with random weights, created on demand: their output is meaningless, but their cost is realistic.

python -m perf.made_models bert-29k --items-from stereoset
"""

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Part of the name of every folder; increase it when a recipe changes.
_VERSION = 4
# The standard deviation of logits, so that probabilities are neither nearly equal nor zero. Weights within the layers
# keep transformers' initial scale: larger ones would amplify rounding errors of any implementation.
_SPREAD_OF_LOGITS = 1.5


def default_folder() -> Path:
    """Return the folder of created models."""
    return Path(tempfile.gettempdir()) / "tiltmeter-made-models"


def ensure(name: str, source: str, root: Path) -> str:
    """Return the folder of one of these models, and create it if needed; return the name of any other model."""
    if name not in RECIPES:
        return name
    folder = _folder(name, source, root)
    if not folder.is_dir():
        print(f"Making {name} …", file=sys.stderr, flush=True)
        # In a separate process, so that its memory is not measured.
        command = [sys.executable, "-m", __spec__.name, name, "--items-from", source, "--models-dir", str(root)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return str(folder)


def make(name: str, source: str, root: Path) -> Path:
    """Create a model and save it in the Hugging Face layout."""
    import torch
    import transformers

    from perf.items import texts

    transformers.utils.logging.disable_progress_bar()
    torch.manual_seed(0)
    folder = _folder(name, source, root)
    root.mkdir(parents=True, exist_ok=True)
    model, tokenizer = RECIPES[name](texts(source))
    unfinished = Path(tempfile.mkdtemp(dir=root))
    try:
        model.save_pretrained(unfinished)
        tokenizer.save_pretrained(unfinished)
        if not folder.exists():
            unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return folder


def _folder(name: str, source: str, root: Path) -> Path:
    recipe: dict[str, Any] = {"name": name, "source": source, "version": _VERSION}
    if source.endswith(".jsonl"):
        recipe["content"] = hashlib.sha256(Path(source).read_bytes()).hexdigest()
    return root / f"{name}-{hashlib.sha256(json.dumps(recipe).encode()).hexdigest()[:12]}"


def _bert(texts: list[str], size: int) -> tuple[Any, Any]:
    from transformers import BertConfig, BertForPreTraining

    from perf.made_tokenizers import word_piece

    model = BertForPreTraining(BertConfig(vocab_size=size))
    _spread_logits(model, model.cls.predictions.transform.LayerNorm)
    return model, word_piece(texts, size)


def _gpt2(texts: list[str]) -> tuple[Any, Any]:
    from transformers import GPT2Config, GPT2LMHeadModel

    from perf.made_tokenizers import byte_level

    model = GPT2LMHeadModel(GPT2Config(vocab_size=50_257, bos_token_id=0, eos_token_id=0))
    _spread_logits(model, model.transformer.ln_f)
    return model, byte_level(texts, 50_257)


def _t5(texts: list[str]) -> tuple[Any, Any]:
    from transformers import T5Config, T5ForConditionalGeneration

    from perf.made_tokenizers import unigram

    config = T5Config(  # type: ignore[call-arg]
        vocab_size=32_128,
        d_model=768,
        d_kv=64,
        d_ff=3072,
        num_layers=12,
        num_heads=12,
        decoder_start_token_id=0,
        pad_token_id=0,
        eos_token_id=1,
    )
    model = T5ForConditionalGeneration(config)
    _spread_logits(model, model.decoder.final_layer_norm, scale=config.d_model**-0.5)
    return model, unigram(texts, 32_000)


def _spread_logits(model: Any, last_norm: Any, scale: float = 1.0) -> None:
    """Set the gain of the last norm, whose output has norm sqrt(width), for the target deviation of logits."""
    import torch

    embeddings = model.get_output_embeddings().weight
    with torch.no_grad():
        last_norm.weight.fill_(_SPREAD_OF_LOGITS / (embeddings.std() * embeddings.shape[1] ** 0.5 * scale))


RECIPES: dict[str, Callable[[list[str]], tuple[Any, Any]]] = {
    "bert-29k": lambda texts: _bert(texts, 28_996),  # the vocabulary size of English BERT
    "bert-120k": lambda texts: _bert(texts, 119_547),  # of multilingual BERT
    "bert-250k": lambda texts: _bert(texts, 250_002),  # of XLM-R
    "gpt2": _gpt2,
    "t5-base": _t5,
}


def main() -> None:
    """Create one model."""
    parser = argparse.ArgumentParser(description="Make a full-size model with random weights.")
    parser.add_argument("name", choices=RECIPES)
    parser.add_argument("--items-from", default="starter", help="a data set or JSONL file to train the tokenizer on")
    parser.add_argument("--models-dir", type=Path, default=default_folder())
    options = parser.parse_args()
    print(make(options.name, options.items_from, options.models_dir))


if __name__ == "__main__":
    main()
