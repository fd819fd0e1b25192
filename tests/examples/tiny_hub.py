"""A local hub: the Hugging Face API with a tiny model for each hub id in the docs."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import huggingface_hub.constants
import pytest
import torch
import transformers as t
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from tests.models.tiny import made, saved
from tests.support.serving import serving

# The words that the English templates of GEST compare; each is one token.
_WORDS = "he she He She man woman"
_SPECIAL = ["<pad>", "<s>", "</s>", "<mask>", "<extra_id_0>"]
_SIZE, _LARGE, _POSITIONS = 340, 6000, 1024
_WIDTH: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 24}


@cache
def tokenizer(kind: str, texts: tuple[str, ...] = ()) -> t.PreTrainedTokenizerFast:
    """Return a tokenizer of bytes and frequent words of the texts, with the special tokens of a kind of model."""
    # Bytes, so that texts in all scripts can be encoded.
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=_LARGE if texts else _SIZE,
        special_tokens=_SPECIAL,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    words = [*_WORDS.split(), *(f" {word}" for word in _WORDS.split())]
    backend.train_from_iterator([*words * (len(texts) or 1), *texts], trainer)
    ids = [("<s>", 1), ("</s>", 2)]
    special: dict[str, Any] = {"pad_token": "<pad>", "eos_token": "</s>"}
    if kind == "masked":
        backend.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", pair="<s> $A </s> $B:1 </s>:1", special_tokens=ids
        )
        special |= {"cls_token": "<s>", "sep_token": "</s>", "mask_token": AddedToken("<mask>", lstrip=True)}
        special["model_input_names"] = ["input_ids", "token_type_ids", "attention_mask"]
    elif kind == "seq2seq":
        backend.post_processor = processors.TemplateProcessing(
            single="$A </s>", pair="$A </s> $B </s>", special_tokens=ids[1:]
        )
        special["additional_special_tokens"] = ["<extra_id_0>"]
    else:
        special["bos_token"] = "<s>"
    return t.PreTrainedTokenizerFast(tokenizer_object=backend, **special)


_T5: dict[str, Any] = {"d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 1, "num_heads": 2}
_MAKERS: dict[str, tuple[str, Callable[[], Any]]] = {
    "bert": (
        "masked",
        lambda: t.BertForPreTraining(t.BertConfig(**_WIDTH, vocab_size=_SIZE, max_position_embeddings=_POSITIONS)),
    ),
    "xlm-roberta": (
        "masked",
        lambda: t.XLMRobertaForMaskedLM(
            t.XLMRobertaConfig(**_WIDTH, vocab_size=_LARGE, max_position_embeddings=_POSITIONS, pad_token_id=0)
        ),
    ),
    "gpt2": (
        "causal",
        lambda: t.GPT2LMHeadModel(
            t.GPT2Config(
                vocab_size=_SIZE, n_embd=16, n_layer=1, n_head=2, n_positions=_POSITIONS, bos_token_id=1, eos_token_id=2
            )
        ),
    ),
    "t5": ("seq2seq", lambda: t.T5ForConditionalGeneration(t.T5Config(**_T5, vocab_size=_SIZE, **_ENDS))),
    "mt5": ("seq2seq", lambda: t.MT5ForConditionalGeneration(t.MT5Config(**_T5, vocab_size=_SIZE, **_ENDS))),
}
_ENDS: dict[str, Any] = {"pad_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 0}

_OF_GOOGLE = ("google-bert/bert-base-cased", "google-bert/bert-base-multilingual-cased")
# Every hub id in the docs, by the architecture of its tiny model.
IDS = {
    "bert": ("bert-base-cased", "bert-base-uncased", "bert-base-multilingual-cased", *_OF_GOOGLE),
    "xlm-roberta": ("roberta-base", "xlm-roberta-base", "albert-base-v2"),
    "gpt2": ("gpt2", "ai-forever/mGPT", "THUMT/mGPT", "my-name/70b", "EleutherAI/pythia-160m"),
    "t5": ("t5-base",),
    "mt5": ("google/mt5-base",),
    "nllb": ("facebook/nllb-200-distilled-600M",),
}


def make_model(architecture: str, name: str, folder: Path, texts: tuple[str, ...] = ()) -> str:
    """Save a tiny model whose weights depend on its name, and return the folder."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4])
    if architecture == "nllb":
        return _make_nllb(folder, seed)
    kind, make = _MAKERS[architecture]
    return saved(folder, made(make, seed), tokenizer(kind, texts if architecture == "xlm-roberta" else ()))


def _make_nllb(folder: Path, seed: int) -> str:
    """Save a translation model whose generation config limits the length of translations."""
    alphabet = ["▁", *(f"▁{word}" for word in ("som", "bol", "bola", "rád", "dnes")), *map(chr, range(33, 127))]
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *alphabet]
    made_tokenizer = t.NllbTokenizer(vocab={piece: number for number, piece in enumerate(pieces)}, merges=[])
    config = t.M2M100Config(
        vocab_size=len(made_tokenizer),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=24,
        decoder_ffn_dim=24,
        max_position_embeddings=_POSITIONS,
        pad_token_id=1,
        decoder_start_token_id=2,
    )
    model = made(lambda: t.M2M100ForConditionalGeneration(config), seed)
    with torch.no_grad():  # so that its translations consist of letters
        model.model.shared.weight[len(pieces) :] = 0
    model.generation_config.min_new_tokens = 4
    model.generation_config.exponential_decay_length_penalty = (5, 8.0)
    return saved(folder, model, made_tokenizer)


@contextmanager
def tiny_hub(folder: Path, texts: Iterable[str]) -> Iterator[str]:
    """Serve a hub with all `IDS`, redirect the client of the hub to it, and yield the address.

    The words of `texts` are in the vocabulary of the multilingual models.
    """
    folders = {name: folder / name for names in IDS.values() for name in names}
    for architecture, names in IDS.items():
        for name in names:
            make_model(architecture, name, folders[name], tuple(texts))

    class Hub(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def do_GET(self) -> None:
            self._answer(with_body=True)

        def _answer(self, with_body: bool) -> None:
            status, headers, body = respond(folders, unquote(urlsplit(self.path).path))
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if with_body:
                self.wfile.write(body)

    with serving(Hub) as address, pytest.MonkeyPatch.context() as patch:
        # The client has read HF_ENDPOINT and HF_HOME when it was imported.
        constants = huggingface_hub.constants
        patch.setattr(constants, "ENDPOINT", address)
        patch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}")
        patch.setattr(constants, "HF_HUB_CACHE", str(folder / "cache"))
        yield address


def respond(folders: dict[str, Path], path: str) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body for a request of the client."""
    if path.startswith("/api/models/"):
        name, *rest = _split(folders, path.removeprefix("/api/models/"))
        if name is None:
            return 404, {"X-Error-Code": "RepoNotFound"}, b"{}"
        files = sorted(file for file in folders[name].iterdir() if file.is_file())
        if rest[0] == "tree":
            listed = [
                {"type": "file", "path": file.name, "size": file.stat().st_size, "oid": _digest(file.read_bytes())[:40]}
                for file in files
            ]
            return 200, {"Content-Type": "application/json"}, json.dumps(listed).encode()
        siblings = [{"rfilename": file.name} for file in files]
        about = {"id": name, "sha": _commit(name), "siblings": siblings, "private": False, "tags": [], "downloads": 0}
        return 200, {"Content-Type": "application/json"}, json.dumps(about).encode()
    name, *rest = _split(folders, path.removeprefix("/"))
    if name is None or rest[0] != "resolve":
        return 404, {"X-Error-Code": "RepoNotFound"}, b""
    file = folders[name] / rest[2]
    if not file.is_file():
        return 404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": _commit(name)}, b""
    content = file.read_bytes()
    return 200, {"ETag": f'"{_digest(content)[:40]}"', "X-Repo-Commit": _commit(name)}, content


def _split(folders: dict[str, Path], path: str) -> tuple[str | None, str, str, str]:
    """Return the hub id at the beginning of a path, and the following parts."""
    for name in folders:
        if path == name or path.startswith(f"{name}/"):
            words = [*path[len(name) :].strip("/").split("/", 2), "", "", ""]
            return name, words[0], words[1], words[2]
    return None, "", "", ""


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _commit(name: str) -> str:
    return hashlib.sha1(name.encode()).hexdigest()
