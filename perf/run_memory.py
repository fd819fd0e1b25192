"""Peak memory of `tiltmeter run` by number of items, each in a separate process.

python -m perf.run_memory --items 10000 50000 200000 --forms pairs --kinds masked causal

The run is the whole command: items from a JSONL file, answers, measures, saved folder and report. The slope is the
additional peak memory per additional item between two numbers of items.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

FORMS = ("pairs", "stereoset", "multiple-choice")
KINDS = ("masked", "causal")
_SYLLABLES = ("ba", "ke", "li", "mo", "nu", "ra", "sen", "tol", "vik", "zum")
_WORDS = [first + second + third for first in _SYLLABLES for second in _SYLLABLES for third in _SYLLABLES]
_PEOPLE = _WORDS[:40]
_TYPES = ("age", "gender", "profession", "region")


def made_items(form: str, count: int) -> Iterator[dict[str, Any]]:
    """Yield items of random words with typical lengths, as JSON values."""
    make = {"pairs": _pair, "stereoset": _association, "multiple-choice": _question}[form]
    for number in range(count):
        yield make(number, random.Random(number))


def _sentence(chance: random.Random, shortest: int, longest: int) -> str:
    return " ".join(chance.choices(_WORDS, k=chance.randint(shortest, longest)))


def _pair(number: int, chance: random.Random) -> dict[str, Any]:
    start, end = _sentence(chance, 2, 5), _sentence(chance, 5, 11)
    more, less = chance.sample(_PEOPLE, 2)
    return {
        "id": f"pair-{number}",
        "language": "en",
        "bias_type": chance.choice(_TYPES),
        "direction": "stereo",
        "more": f"{start} {more} {end}.",
        "less": f"{start} {less} {end}.",
    }


def _association(number: int, chance: random.Random) -> dict[str, Any]:
    words = chance.sample(_WORDS, 3)
    return {
        "id": f"item-{number}",
        "part": "intrasentence",
        "language": "en",
        "bias_type": chance.choice(_TYPES),
        "target": chance.choice(_PEOPLE),
        "context": f"{_sentence(chance, 2, 5)} BLANK {_sentence(chance, 2, 5)}.",
        "candidates": dict(zip(("stereotype", "anti-stereotype", "unrelated"), words, strict=True)),
    }


def _question(number: int, chance: random.Random) -> dict[str, Any]:
    first, second = chance.sample(_PEOPLE, 2)
    return {
        "id": f"question-{number}",
        "part": "ambiguous",
        "language": "en",
        "bias_type": chance.choice(_TYPES),
        "template": f"template-{number // 8}",
        "polarity": chance.choice(("negative", "non-negative")),
        "context": f"The {first} and the {second} {_sentence(chance, 10, 20)}.",
        "question": f"Who {_sentence(chance, 3, 6)}?",
        "stereotype": f"The {first}",
        "anti-stereotype": f"The {second}",
        "unknown": "Not known",
        "correct": "unknown",
    }


def write_items(form: str, count: int, path: Path) -> str:
    """Write synthetic items to a JSONL file, and return its path."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(item) + "\n" for item in made_items(form, count))
    return str(path)


def make_model(kind: str, folder: Path) -> str:
    """Save a tiny model with random weights and a tokenizer that splits a third of the words, and return its folder."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    whole = [word for number, word in enumerate(_WORDS) if number % 3]
    pieces = [*_SYLLABLES, *(f"##{first}{second}" for first in _SYLLABLES for second in _SYLLABLES)]
    own = ["The", "the", "and", "Who", "Not", "known", "Context", "Question", "Answer", ".", "?", ":"]
    vocabulary = {token: number for number, token in enumerate([*special, *own, *pieces, *whole])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    torch.manual_seed(0)
    size: dict[str, int] = {"vocab_size": len(vocabulary)}
    model: Any
    if kind == "masked":
        around = [(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")]
        tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=around)
        size |= {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
        model = transformers.BertForMaskedLM(transformers.BertConfig(**size))
    else:
        size |= {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 128, "bos_token_id": vocabulary["[CLS]"]}
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**size))
    model.save_pretrained(folder)
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    names["cls_token" if kind == "masked" else "bos_token"] = "[CLS]"
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    return str(folder)


def measure(model: str, items: str, out: str) -> dict[str, Any]:
    """Run the command on a file of items, and return a record of the peak memory and CPU time of this process."""
    from perf.machine import peak_memory
    from tiltmeter.cli import app

    app(["run", model, "--on", items, "--out", out, "--quiet"], standalone_mode=False)
    return {"peak": peak_memory(), "seconds": time.process_time()}


def measure_apart(form: str, kind: str, items: int, folder: Path) -> dict[str, Any]:
    """Call `measure` in a separate process with its own cache."""
    model = folder / kind
    if not model.is_dir():
        subprocess.run([sys.executable, "-m", __spec__.name, "--make", kind, str(model)], check=True)
    with tempfile.TemporaryDirectory(dir=folder) as own:
        path = write_items(form, items, Path(own) / "items.jsonl")
        command = [sys.executable, "-m", __spec__.name, "--measure", str(model), path, str(Path(own) / "run")]
        environment = {**os.environ, "TILTMETER_CACHE": str(Path(own) / "cache")}
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    record: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {"form": form, "kind": kind, "items": items, **record}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure forms and kinds of model with each number of items, and print the slopes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, nargs="+", default=[10_000, 50_000])
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=FORMS)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--make", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        print(json.dumps(measure(*options.measure)))
        return
    if options.make:
        make_model(options.make[0], Path(options.make[1]))
        return
    print(f"{'form':<16}{'kind':<8}{'items':>9}{'CPU s':>8}{'peak MB':>9}{'kB per more item':>18}")
    with tempfile.TemporaryDirectory() as folder:
        for form in options.forms:
            for kind in options.kinds:
                if (form, kind) != ("multiple-choice", "masked"):  # not for masked models
                    _print_rows([measure_apart(form, kind, items, Path(folder)) for items in options.items])


def _print_rows(records: Sequence[dict[str, Any]]) -> None:
    for before, record in zip([None, *records], records, strict=False):
        slope = "" if before is None else f"{_slope(before, record) / 1e3:.1f}"
        row = f"{record['form']:<16}{record['kind']:<8}{record['items']:>9,}{record['seconds']:>8.0f}"
        print(f"{row}{record['peak'] / 1e6:>9.0f}{slope:>18}", flush=True)


def _slope(few: dict[str, Any], many: dict[str, Any]) -> float:
    """Return the additional bytes per additional item."""
    return float(many["peak"] - few["peak"]) / (many["items"] - few["items"])


if __name__ == "__main__":
    main()
