"""Bad plans and folders of matrices."""

import json
from collections.abc import Iterator
from itertools import cycle

from perf.bad_input_cases.many_runs import (
    WRONG_TOML,
    printed_of_sound,
    refused,
    same_words,
    sound_plan,
    with_copy,
    with_text,
)
from perf.bad_input_cases.scene import Case, Scene, broken_files

_MORE_WRONG = {**WRONG_TOML, "a date": "2020-01-01", "not finite": "nan", "empty": '""', "true": "true"}


def cases(scene: Scene) -> Iterator[Case]:
    """Yield all cases of this class."""
    yield from _plans(scene)
    yield from _matrix_folders(scene)


def _plans(scene: Scene) -> Iterator[Case]:
    """Yield plans with one error, which must be rejected before anything is done."""
    plan, dry = sound_plan(scene), ["matrix", "plan.toml", "--out", "m", "--dry-run"]
    texts: dict[str, str] = {}
    for line in plan.splitlines():
        key = line.partition(" = ")[0]
        for name, value in (_MORE_WRONG if " = " in line else {}).items():
            texts[f"{key} is {name}"] = plan.replace(line, f"{key} = {value}")
        texts[f"without {line[:12]!r}"] = plan.replace(line + "\n", "", 1)
    for key in _MODEL_KEYS:
        for name, value in WRONG_TOML.items():
            texts[f"{key} of a model is {name}"] = f"{plan}{key} = {value}\n"
    for name, (old, new) in _PLAN_CHANGES.items():
        texts[name] = plan.replace(old, new) if old else plan + new
    fine = {"without 'limit = 6'", "without 'languages = '", "without 'protocols = '"}
    for name, text in texts.items():
        yield Case(f"plan: {name}", dry, with_text("plan.toml", text), judge=None if name in fine else refused)
    for way, broken in broken_files(scene.root / "planned" / "plan.toml"):
        yield Case(f"plan {way}", dry, lambda f, b=broken: b(f / "plan.toml"), judge=refused)


def _matrix_folders(scene: Scene) -> Iterator[Case]:
    """Yield folders of a finished matrix with a broken file; exit code 0 requires the same output."""
    planned = scene.root / "planned"
    commands = {
        "status": ["matrix", "plan.toml", "--out", "matrix", "--status"],
        "dry run": ["matrix", "plan.toml", "--out", "matrix", "--dry-run"],
    }
    clean = {name: printed_of_sound(scene, name, words, with_copy(planned)) for name, words in commands.items()}
    files = sorted(path.relative_to(planned) for path in planned.rglob("*") if path.is_file())
    turns = cycle([*commands.items(), *reversed(commands.items())])
    job = next(path.parent for path in files if path.name == "state.json")
    for file in [*files, job / "submitted.json", job / "lock"]:
        source = planned / file if (planned / file).is_file() else planned / job / "state.json"
        for way, broken in broken_files(source):
            command, words = next(turns)
            prepare = with_copy(planned, lambda folder, b=broken, f=file: b(folder / f))
            yield Case(f"{command}: {file.name} {way}", words, prepare, judge=same_words(clean[command]))
    for file in [path for path in files if path.name in ("state.json", "prefetched.json", "job.json")]:
        for name, content in _JSON.items():
            for command, words in commands.items():
                prepare = with_copy(planned, with_text(str(file), content))
                yield Case(f"{command}: {file.name} is {name}", words, prepare, judge=same_words(clean[command]))


_MODEL_KEYS = ("kind", "dtype", "tokenizer", "gpus", "cpus", "batch_tokens", "plain", "max_memory", "memory_gb")
_PLAN_CHANGES: dict[str, tuple[str, str]] = {
    "an unknown key": ("limit", "limits"),
    "an unknown key of a model": ("", "revison = 'x'\n"),
    "a key twice": ("limit = 6", "limit = 6\nlimit = 7"),
    "no benchmarks": ('languages = ["en"]', "benchmark = []"),
    "an unknown benchmark": ("benchmarks = [", 'benchmarks = ["sterioset", '),
    "a benchmark twice": ("benchmarks = [", 'benchmarks = ["starter", "starter", '),
    "a benchmark nowhere": ("benchmarks = [", 'benchmarks = ["/nowhere/items.jsonl", '),
    "a benchmark that is a folder": ("benchmarks = [", 'benchmarks = ["/tmp", '),
    "an unknown part": ("benchmarks = [", 'benchmarks = ["starter/no", '),
    "an unknown language": ('["en"]', '["tlh"]'),
    "an unknown protocol": ('["published"]', '["published", "pubished"]'),
    "a protocol of other items": ('["published"]', '["published", "aula"]'),
    "no limit left": ("limit = 6", "limit = 0"),
    "a limit that is a fraction": ("limit = 6", "limit = 0.5"),
    "a huge limit": ("limit = 6", f"limit = {'9' * 5000}"),
    "no name": ("name = ", "series = "),
    "a model twice": ("", "[[models]]\nname = 'embedded'\n[[models]]\nname = 'embedded'\n"),
    "a password": ("", "[[models]]\nname = 'openai:m@http://me:s3cret-word@host/v1'\n"),
    "a key of a service": ("", "[[models]]\nname = 'openai:m@http://host/v1?api_key=s3cret-word'\n"),
    "an unknown kind": ("", "kind = 'mask'\n"),
    "options of chat models": ("", "samples = 3\n"),
    "options of servers": ("", "per_minute = 3\n"),
    "models that are texts": ("[[models]]", "models = ['x']\n[[model]]"),
    "nothing but models": ("benchmarks", "[benchmarks]\nx"),
}
_STATE_KEYS = ("state", "time", "cells", "finished", "failed", "job", "host", "pid")
_JSON = {
    "a list": "[]",
    "a number": "7",
    "null": "null",
    "of lists": json.dumps({key: [[]] for key in _STATE_KEYS}),
    "of texts": json.dumps(dict.fromkeys(_STATE_KEYS, "x")),
    "of huge numbers": '{"state": "running", "time": 1e308, "cells": 1, "finished": 1e999, "failed": {"a": 1e999}}',
    "of escapes": json.dumps(
        {"state": "\x1b]52;c;AA\x07", "cells": 1, "finished": 1, "failed": {"\x1b[2J": "\x1b[31m"}}
    ),
}
