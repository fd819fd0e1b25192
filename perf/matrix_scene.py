"""Shared parts of the measurements of matrices: small models, a plan, and single runs for comparison."""

import hashlib
import json
import os
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tiltmeter.cluster.job_stores import JobAnswers
from tiltmeter.cluster.plan_cells import RunMatrix, make_matrix
from tiltmeter.cluster.plan_file import read_plan
from tiltmeter.runs.evaluate import evaluate

NAMES = ("bert", "roberta", "xlm-roberta", "gpt2", "llama", "t5")
_COMPARED = ("scores.parquet", "measures.json")
_LOG = "asked.jsonl"
# Tokens per batch: few, so that a kill loses little and each cell has several batches.
_BATCH = 2000


def make_models(folder: Path, names: tuple[str, ...] = NAMES, width: int = 64, layers: int = 2) -> list[Path]:
    """Create models with random weights, and tokenizers that are trained on the starter set."""
    import torch
    import transformers as t

    from perf.items import texts
    from perf.made_tokenizers import byte_level, unigram, word_piece

    t.utils.logging.disable_progress_bar()
    sentences, size = texts("starter"), 3000
    heads = max(2, width // 32)
    common: dict[str, Any] = {"vocab_size": size, "hidden_size": width, "num_hidden_layers": layers}
    bert = {**common, "num_attention_heads": heads, "intermediate_size": 4 * width, "max_position_embeddings": 514}
    t5 = {"vocab_size": size, "d_model": width, "d_kv": 32, "d_ff": 4 * width, "num_layers": layers, "num_heads": heads}
    recipes: dict[str, Callable[[], tuple[Any, Any]]] = {
        "bert": lambda: (t.BertForPreTraining(t.BertConfig(**bert)), word_piece(sentences, size)),
        "roberta": lambda: (t.RobertaForMaskedLM(t.RobertaConfig(**bert, pad_token_id=0)), word_piece(sentences, size)),
        "xlm-roberta": lambda: (
            t.XLMRobertaForMaskedLM(t.XLMRobertaConfig(**bert, pad_token_id=0)),
            word_piece(sentences, size),
        ),
        "gpt2": lambda: (
            t.GPT2LMHeadModel(t.GPT2Config(vocab_size=size, n_embd=width, n_layer=layers, n_head=heads)),
            byte_level(sentences, size),
        ),
        "llama": lambda: (
            t.LlamaForCausalLM(t.LlamaConfig(**bert, num_key_value_heads=heads, head_dim=32)),
            byte_level(sentences, size),
        ),
        "t5": lambda: (
            t.T5ForConditionalGeneration(t.T5Config(**t5, decoder_start_token_id=0)),  # type: ignore[call-arg]
            unigram(sentences, size),
        ),
    }
    made = []
    for number, name in enumerate(names):
        path = folder / name
        if not path.is_dir():
            torch.manual_seed(number)
            model, tokenizer = recipes[name]()
            model.resize_token_embeddings(len(tokenizer))  # plus special tokens
            model.save_pretrained(path)
            tokenizer.save_pretrained(path)
        made.append(path)
    return made


def make_plan(folder: Path, models: list[Path], benchmarks: list[str], languages: list[str], limit: int) -> RunMatrix:
    """Write a plan of these models, and return its matrix in the folder `out`."""
    lines = [f"benchmarks = {json.dumps(benchmarks)}", f"languages = {json.dumps(languages)}", f"limit = {limit}"]
    for model in models:
        lines += ["[[models]]", f"name = {json.dumps(str(model))}", f"batch_tokens = {_BATCH}"]
    plan = folder / "plan.toml"
    plan.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return make_matrix(read_plan(plan), folder / "out")


def log_questions(folder: Path) -> None:
    """Write questions to a file when this process has computed their answers, before they are stored."""
    put = JobAnswers.put

    def logged(self: JobAnswers, fingerprint: str, answers: Any) -> None:
        with (folder / _LOG).open("a", encoding="utf-8") as file:
            file.write(json.dumps([fingerprint[:16], *(digest.hex() for digest in answers)]) + "\n")
        put(self, fingerprint, answers)

    JobAnswers.put = logged  # type: ignore[method-assign]


def asked_twice(matrix: RunMatrix) -> tuple[int, int, int]:
    """Return the number of questions, of repeated questions, and of the batches with repeated questions."""
    total = again = batches = 0
    for entry in matrix.models:
        counts: Counter[tuple[str, str]] = Counter()
        path = entry.folder / _LOG
        for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
            fingerprint, *digests = json.loads(line)
            keys = [(fingerprint, digest) for digest in digests]
            if any(counts[key] for key in keys):
                batches += 1
                again += sum(counts[key] > 0 for key in keys)
            counts.update(keys)
        total += len(counts)
    return total, again, batches


def differing(matrix: RunMatrix, folder: Path) -> tuple[int, list[str]]:
    """Return the number of cells that are compared with single runs, and the cells that differ."""
    folder.mkdir(exist_ok=True)
    os.environ["TILTMETER_CACHE"] = tempfile.mkdtemp(dir=folder)
    compared, different = 0, []
    for entry in matrix.models:
        for cell in entry.cells:
            single = folder / entry.folder.name / cell.folder
            batch = entry.model.options["batch_tokens"]
            evaluate(entry.model.name, cell.on, limit=cell.limit, batch_tokens=batch, out=single, watch=_quiet)
            compared += 1
            if _digests(single) != _digests(entry.folder / cell.folder):
                different.append(f"{entry.folder.name}/{cell.folder}")
    return compared, different


def _digests(folder: Path) -> list[str]:
    return [hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in _COMPARED]


def _quiet(_label: str) -> Any:
    from contextlib import nullcontext

    return nullcontext(lambda _progress: None)
