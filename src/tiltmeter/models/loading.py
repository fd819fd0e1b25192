"""From a model's name to something that answers questions."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext, redirect_stderr, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoTokenizer

from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.engine.answerer import Answerer
from tiltmeter.engine.devices import answer_on_devices
from tiltmeter.engine.execute import Report
from tiltmeter.engine.speedups import check_names
from tiltmeter.errors import ModelError
from tiltmeter.models.checkpoint import Checkpoint, find_checkpoint
from tiltmeter.models.kinds import AUTO_CLASSES, has_next_sentence_head, possible_kinds, tell_kind
from tiltmeter.models.loaded_files import digest, loaded_files
from tiltmeter.models.local import LocalModel
from tiltmeter.models.quiet import quiet_transformers
from tiltmeter.questions import Answer, Kind, Question


@dataclass(frozen=True, kw_only=True)
class CheckpointModel(LocalModel):
    """A model in files. Its weights are loaded when the first unanswered question comes, not before."""

    checkpoint: Checkpoint
    devices: tuple[str, ...] = ()
    trust_remote_code: bool = False

    @cached_property
    def weights(self) -> str:
        """SHA-256 of the files that are loaded: weights, config, tokenizer and, if it is trusted, code."""
        return digest(loaded_files(self.checkpoint, self.tokenizer, trust_remote_code=self.trust_remote_code))

    def describe(self) -> dict[str, Any]:
        """What the manifest says of it, besides its name and fingerprints."""
        return {"revision": self.checkpoint.revision, **super().describe()}

    def answer(
        self,
        questions: Sequence[Question],
        *,
        kind: Kind,
        store: AnswerStore,
        names: Mapping[bytes, str],
        report: Report,
    ) -> Mapping[bytes, Answer]:
        """The answers to all questions, by digest; on several devices at once, if there are several."""
        if len(self.devices) < 2:
            return super().answer(questions, kind=kind, store=store, names=names, report=report)
        return answer_on_devices(
            questions,
            kind=kind,
            fingerprint=self.fingerprint(kind),
            loads=self.loads(kind, self.devices),
            store=store,
            batch_tokens=self.batch_tokens,
            names=names,
            report=report,
        )

    def loads(self, kind: Kind, devices: Sequence[str]) -> list[Callable[[], Answerer]]:
        """What loads this model on each of several devices, in a process of its own."""
        on_processor = sum(device == "cpu" for device in devices)
        threads = max(1, torch.get_num_threads() // on_processor) if on_processor else None
        return [
            partial(
                load_answerer,
                self.name,
                kind,
                threads=threads if device == "cpu" else None,
                device=device,
                dtype=str(self.dtype).removeprefix("torch."),
                trust_remote_code=self.trust_remote_code,
                without=self.without,
            )
            for device in devices
        ]

    @quiet_transformers()
    def _module(self, kind: Kind) -> nn.Module:
        try:
            # The bar that comes with reading GGUF files cannot be turned off, and would tear our own.
            with redirect_stderr(StringIO()) if self.checkpoint.gguf else nullcontext():
                model, info = AUTO_CLASSES[kind].from_pretrained(
                    str(self.checkpoint.folder),
                    config=self.config,
                    dtype=self.dtype,
                    trust_remote_code=self.trust_remote_code,
                    output_loading_info=True,
                    **_gguf_argument(self.checkpoint),
                )
        except Exception as error:  # whatever transformers and the files come up with
            raise ModelError(
                f"The weights of {self.name} could not be loaded as {kind}: {_first_line(error)}"
            ) from error
        missing = sorted(info["missing_keys"])
        if missing:
            raise ModelError(
                f"{self.name} cannot be used as {kind}: its checkpoint lacks {len(missing)} tensors, {missing[0]} "
                f"first, so its answers would be random. Models of its type can be used as "
                f"{' or '.join(possible_kinds(self.config)) or 'none of the kinds'}; choose with --kind."
            )
        ready: nn.Module = model.to(self.device).eval()
        return ready


@quiet_transformers()
def open_model(
    name: str,
    *,
    kind: Kind | None = None,
    device: str = "auto",
    devices: Sequence[str] = (),
    dtype: str = "auto",
    batch_tokens: int | None = None,
    trust_remote_code: bool = False,
    cache: Path | None = None,
    tokenizer: str | None = None,
    without: Collection[str] = (),
) -> CheckpointModel:
    """The model called `name`: a folder, a .gguf file, a hub id (`id@revision`), or `embedded`.

    The options are those of `ModelOptions`. `cache` is where the config and tokenizer of a GGUF file are kept, since
    taking them out of it takes seconds. `tokenizer` is a folder or hub id, if not the model's own.
    `without` names speed-ups to leave out (`tiltmeter.engine.speedups.NAMES`).
    """
    checkpoint = find_checkpoint(name, trust_remote_code=trust_remote_code)
    text_files = _text_files(checkpoint, cache)
    try:
        config = AutoConfig.from_pretrained(trust_remote_code=trust_remote_code, **text_files)
    except Exception as error:
        hint = "" if trust_remote_code else " If it brings code of its own that you trust, pass --trust-remote-code."
        raise ModelError(f"The config of {name} cannot be read: {_first_line(error)}{hint}") from error
    told = kind or tell_kind(checkpoint, config)
    if told not in possible_kinds(config):
        raise ModelError(
            f"{name} ({config.model_type}) cannot be used as {told}; it can be used as "
            f"{' or '.join(possible_kinds(config)) or 'none of the kinds'}."
        )
    where = _device(devices[0] if devices else device)
    loaded = _tokenizer(checkpoint, trust_remote_code, text_files if tokenizer is None else _other(tokenizer))
    if tokenizer is not None and len(loaded) > config.get_text_config().vocab_size:
        raise ModelError(
            f"The tokenizer {tokenizer} has {len(loaded):,} tokens, and {name} knows only "
            f"{config.get_text_config().vocab_size:,}; it is not a tokenizer for this model."
        )
    return CheckpointModel(
        name=name,
        checkpoint=checkpoint,
        config=config,
        tokenizer=loaded,
        kind=told,
        has_next_sentence_head=told == "masked" and has_next_sentence_head(checkpoint, config),
        device=where,
        dtype=_dtype(dtype, where, config),
        batch_tokens=batch_tokens,
        devices=tuple(devices),
        trust_remote_code=trust_remote_code,
        without=check_names(without),
    )


def load_answerer(name: str, kind: Kind, *, threads: int | None = None, **options: Any) -> Answerer:
    """The model called `name`, loaded to answer as `kind`; the options are those of `open_model`.

    What a worker process is started with. `threads` keeps several workers on CPUs from competing for cores.
    """
    if threads is not None:
        torch.set_num_threads(threads)
    return open_model(name, **options).answerer(kind)


def _tokenizer(checkpoint: Checkpoint, trust_remote_code: bool, text_files: dict[str, str]) -> Any:
    try:
        return AutoTokenizer.from_pretrained(trust_remote_code=trust_remote_code, **text_files)
    except Exception as error:
        raise ModelError(f"The tokenizer of {checkpoint.name} cannot be loaded: {_first_line(error)}") from error


def _other(tokenizer: str) -> dict[str, str]:
    """A tokenizer that is not the model's own; `id@revision` as for models."""
    name, at, revision = tokenizer.rpartition("@")
    if not at or Path(tokenizer).exists():
        return {"pretrained_model_name_or_path": tokenizer}
    return {"pretrained_model_name_or_path": name, "revision": revision}


def _text_files(checkpoint: Checkpoint, cache: Path | None) -> dict[str, str]:
    """Where config and tokenizer are read from. Those inside a GGUF file are taken out once, and kept in `cache`."""
    inside = {"pretrained_model_name_or_path": str(checkpoint.folder), **_gguf_argument(checkpoint)}
    if not checkpoint.gguf or cache is None:
        return inside
    kept = cache / "gguf" / digest(checkpoint.weight_files)
    if not kept.is_dir():
        with TemporaryDirectory(dir=_made(kept.parent)) as part, redirect_stderr(StringIO()):
            try:
                AutoConfig.from_pretrained(**inside).save_pretrained(part)
                AutoTokenizer.from_pretrained(**inside).save_pretrained(part)
            except Exception:
                return inside  # to be told by who reads it next
            with suppress(OSError):  # another run may have just put it there
                Path(part).rename(kept)
                Path(part).mkdir()  # for the temporary folder to remove
    return {"pretrained_model_name_or_path": str(kept)}


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _gguf_argument(checkpoint: Checkpoint) -> dict[str, str]:
    return {"gguf_file": checkpoint.gguf} if checkpoint.gguf else {}


def _device(device: str) -> torch.device:
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        found = torch.device(device)
        torch.empty(0, device=found)
    except (RuntimeError, AssertionError) as error:
        raise ModelError(f"The device {device!r} cannot be used here: {_first_line(error)}") from error
    return found


def _dtype(dtype: str, device: torch.device, config: Any) -> torch.dtype:
    """Float32, unless asked otherwise, or unless a model stored in half precision meets a GPU."""
    if dtype == "auto":
        stored = getattr(config, "dtype", None)
        half = stored in (torch.float16, torch.bfloat16)
        return stored if half and device.type == "cuda" else torch.float32  # type: ignore[return-value]
    found = getattr(torch, dtype, None)
    if found not in (torch.float32, torch.float16, torch.bfloat16):
        raise ModelError(f"The dtype {dtype!r} is not known; choose auto, float32, float16 or bfloat16.")
    return found  # type: ignore[no-any-return]


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
