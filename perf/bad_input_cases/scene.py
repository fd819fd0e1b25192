"""The files of all bad inputs: a tiny model, items, a finished run and a project; and the class of a bad input."""

import json
import shutil
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from tiltmeter.datasets.dataset_loader import load
from tiltmeter.datasets.readers.jsonl import write_jsonl
from tiltmeter.forms.association import AssociationItem
from tiltmeter.runs.evaluate import evaluate
from tiltmeter.runs.prediction_run import score_predictions

ITEMS = 6
# The forms whose items are edited field by field: a data set, and its part.
FORMS = {
    "association": ("starter", "intrasentence"),
    "next sentence": ("starter", "intersentence"),
    "pairs": ("starter-pairs", None),
    "gest": ("starter-gest", None),
}
# Values that replace a JSON value: another type, nothing, or too much.
WRONG: dict[str, Any] = {"null": None, "a number": -7.5, "a text": "x\x1b[31m", "a list": [[]], "an object": {"a": 1}}


@dataclass(frozen=True, slots=True)
class Case:
    """One bad input: the words of the command, and a function that creates its files in an empty folder.

    `scores` is the folder of the run that the command writes, if any; `clean` is the same run for valid input, if it is
    not that of the scene. `user` and `largest_file` (in bytes) are limits of the process. `judge` returns the outcome
    of a call with exit code 0 from its folder and its output, if scores are not compared.
    """

    name: str
    words: Sequence[str]
    prepare: Callable[[Path], None] = lambda _folder: None
    environment: dict[str, str] = field(default_factory=dict)
    scores: str | None = None
    clean: Path | None = None
    user: int | None = None
    largest_file: int | None = None
    judge: Callable[[Path, str, str], str] | None = None


@dataclass(frozen=True, slots=True)
class Scene:
    """The folder of valid files."""

    root: Path

    @property
    def model(self) -> str:
        """A tiny causal model."""
        return str(self.root / "model")

    @property
    def items(self) -> Path:
        """Items of the form with three candidates."""
        return self.root / "items.jsonl"

    @property
    def run(self) -> Path:
        """A finished run."""
        return self.root / "run"

    @property
    def cache(self) -> Path:
        """A cache with the answers of the run."""
        return self.root / "cache"

    @property
    def articles(self) -> Path:
        """Articles for sentence pairs."""
        return self.root / "articles.jsonl"

    @property
    def predictions(self) -> Path:
        """Predictions for the items, in the published format."""
        return self.root / "predictions.json"

    def few(self, form: str) -> Path:
        """Return the path of a few items of a form; the run on them has the suffix `.run`."""
        return self.root / f"{form.replace(' ', '-')}.jsonl"

    def measuring(self, *words: str, on: str | None = None, model: str | None = None) -> list[str]:
        """Return the words of a run like the finished one, without its report, which takes long."""
        return ["run", model or self.model, "--on", on or str(self.items), "--out", "out", "--no-report", *words]


def make_scene(scene: Scene) -> None:
    """Create all files."""
    root = scene.root
    save_model(root / "model")
    for file in (root / "model").iterdir():  # other users must be able to read it
        file.chmod(0o644)
    items = cast(list[AssociationItem], load("starter", "intrasentence", "en")[:ITEMS])
    write_jsonl(items, scene.items)
    candidates = [candidate.id for item in items for candidate in item.candidates]
    scored = [{"id": identifier, "score": -1 - number % 7 / 10} for number, identifier in enumerate(candidates)]
    scene.predictions.write_text(json.dumps({"intrasentence": scored}), encoding="utf-8")
    run = scene.predictions.with_suffix(".run")
    score_predictions(scene.predictions, form="stereotypes-multi", on=str(scene.items), kind="masked", out=run)
    words = ("bread", "tea", "a chair", "the lamp", "a boat", "the road", "a stone", "the rain")
    articles = [
        {"id": str(number), "language": "en", "sentences": [f"We saw {word} on day {day}." for word in words]}
        for number, day in enumerate(("one", "two", "three", "four"))
    ]
    scene.articles.write_text("\n".join(map(json.dumps, articles)), encoding="utf-8")
    evaluate(scene.model, str(scene.items), out=scene.run)
    for form, (name, part) in FORMS.items():
        write_jsonl(load(name, part, "en")[:4], scene.few(form))
        evaluate(scene.model, str(scene.few(form)), out=scene.few(form).with_suffix(".run"))


def save_model(folder: Path) -> None:
    """Save a tiny causal model with a byte tokenizer; he and she are one token each."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("h", "e"), ("s", "he"), ("Ġ", "she"), ("Ġ", "he")]
    tokens = [*letters, "<|endoftext|>", *map("".join, merges)]
    vocabulary = {token: index for index, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    torch.manual_seed(3)
    config = GPT2Config(
        vocab_size=len(vocabulary), n_positions=256, n_embd=16, n_layer=1, n_head=2, bos_token_id=256, eos_token_id=256
    )
    GPT2LMHeadModel(config).save_pretrained(folder)
    end = "<|endoftext|>"
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=end, eos_token=end).save_pretrained(folder)


def edits(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield copies of a JSON value with one error, each with a name; of lists, only the first entry is changed."""
    if isinstance(value, dict):
        for key, inner in value.items():
            where = ".".join(map(str, (*at, key)))
            yield f"{where} missing", {other: kept for other, kept in value.items() if other != key}
            for name, wrong in _two_of(where, inner):
                yield f"{where} is {name}", {**value, key: wrong}
            for name, changed in edits(inner, (*at, key)):
                yield name, {**value, key: changed}
    elif isinstance(value, list) and value:
        where = ".".join(map(str, (*at, 0)))
        for name, wrong in _two_of(where, value[0]):
            yield f"{where} is {name}", [wrong, *value[1:]]
        for name, changed in edits(value[0], (*at, 0)):
            yield name, [changed, *value[1:]]


def _two_of(where: str, value: Any) -> list[tuple[str, Any]]:
    """Return two alternating wrong values of another type than the right one."""
    fitting = [(name, wrong) for name, wrong in WRONG.items() if type(wrong) is not type(value)]
    first = zlib.crc32(where.encode()) % len(fitting)
    return [fitting[first], fitting[(first + 1) % len(fitting)]]


def broken_files(path: Path) -> Iterator[tuple[str, Callable[[Path], None]]]:
    """Yield ways to break a valid file: a name, and a function that writes the broken file to a path."""
    content = path.read_bytes()
    size = len(content)

    def written(new: bytes) -> Callable[[Path], None]:
        return lambda at: _written(at, new)

    yield "is empty", written(b"")
    yield "is garbage", written(bytes(range(256)) * 8)
    for share in (1, 5, 9):
        yield f"ends after {share} tenths", written(content[: size * share // 10])
    yield "has zeros in its middle", written(content[: size // 3] + bytes(size // 3) + content[size // 3 * 2 :])
    yield "is a folder", _as_folder
    yield "is a pipe", _as_pipe
    yield "is a dangling link", lambda at: _linked(at, "nowhere")
    yield "is a link to itself", lambda at: _linked(at, at.name)
    yield "is nested 100,000 deep", written(b"[" * 100_000)
    yield "is in UTF-16", written(content.decode("utf-8", "replace").encode("utf-16"))
    yield "is a device without end", lambda at: _linked(at, "/dev/zero")
    yield "is missing", lambda at: at.unlink(missing_ok=True)


def json_file(value: Any) -> str:
    """Return a JSON text; lone surrogates are kept."""
    return json.dumps(value, ensure_ascii=True)


def copied(source: Path, target: str) -> Callable[[Path], None]:
    """Copy a folder into the folder of the case."""
    return lambda folder: _copy(source, folder / target)


def _copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target)


def _cleared(at: Path) -> None:
    if at.is_dir() and not at.is_symlink():
        shutil.rmtree(at)
    else:
        at.unlink(missing_ok=True)


def _written(at: Path, content: bytes) -> None:
    _cleared(at)
    at.write_bytes(content)


def _as_folder(at: Path) -> None:
    _cleared(at)
    at.mkdir()


def _as_pipe(at: Path) -> None:
    import os

    _cleared(at)
    os.mkfifo(at)


def _linked(at: Path, target: str) -> None:
    _cleared(at)
    at.symlink_to(target)
