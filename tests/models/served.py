"""A small server of a tiny trained model, for tests: /v1/completions with echo, right or broken in a known way."""

import copy
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import torch
import transformers as t
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from tests.support.serving import serving as local_server
from tiltmeter.models.server_self_test import PROBES

SENTENCES = (
    *PROBES,
    "The nurse was gentle and kind to me.",
    "The nurse was gruff and loud.",
    "A gentle nurse is very kind.",
    "She is kind to the nurse.",
    "He said: I like to read. She said: I like to read.",
    "The man said he was here. The woman said she was here.",
    "man woman he she He She Man Woman man woman he she He She Man Woman men women Men Women boy girl",
)


def train(folder: Path, positions: int = 256) -> Path:
    """A GPT-2 of two layers that has learnt the sentences above by heart, with its tokenizer; takes seconds."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    wrapped = t.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="<s>")
    torch.manual_seed(1)
    config = t.GPT2Config(
        vocab_size=len(wrapped), n_embd=48, n_layer=2, n_head=2, n_positions=positions, bos_token_id=0, eos_token_id=0
    )
    model = t.GPT2LMHeadModel(config)
    rows = [[0, *wrapped(sentence).input_ids] for sentence in SENTENCES]
    width = max(map(len, rows))
    ids = torch.tensor([row + [0] * (width - len(row)) for row in rows])
    labels = torch.tensor([row + [-100] * (width - len(row)) for row in rows])
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(60):
        optimizer.zero_grad()
        model(input_ids=ids, labels=labels).loss.backward()
        optimizer.step()
    model.eval().save_pretrained(folder)
    wrapped.save_pretrained(folder)
    return folder


Reply = dict[str, Any]


class Served:
    """The model behind a server: what it was asked, and how it answers."""

    def __init__(self, folder: Path, fault: str | None = None) -> None:
        self.model = t.AutoModelForCausalLM.from_pretrained(folder).eval()
        self.fault = fault
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.failures: list[tuple[int, dict[str, str]]] = []
        self.dies_after: int | None = None
        # After so many requests none is answered any more; each that waits then counts in `waiting`.
        self.silent_after: int | None = None
        self.waiting = threading.Semaphore(0)
        self.ended = threading.Event()
        # After so many requests, another model answers the texts that `changed` selects.
        self.changes_after: int | None = None
        self.changed: Callable[[list[int]], bool] = lambda _ids: True
        self.other = copy.deepcopy(self.model)
        self.other.transformer.h[1].mlp.c_proj.weight.data *= 2
        self._lock = threading.Lock()

    def completion(self, body: dict[str, Any]) -> Reply:
        """The reply of /v1/completions."""
        ids = list(body["prompt"])
        if self.fault == "drops the first token":
            ids = ids[1:]
        if self.fault == "adds a token":
            ids = [0, *ids]
        values, best = self._compute_log_probs(ids)
        if self.fault == "off by one":
            values = [None, *values[2:], -1.0]
        if self.fault == "off by one, later":
            values = [None, -1.0, *values[1:-1]]
        if self.fault == "constant":
            values = [None, *(-2.0 for _ in values[1:])]
        if self.fault == "zero":
            values = [None, *(0.0 for _ in values[1:])]
        if self.fault == "drops the context" and len(ids) > 1:
            values, best = self._without_context(ids)
        if self.fault == "no beginning":
            shorter, _ = self._compute_log_probs(ids[1:] if ids[0] == 0 else ids)
            values = [None, -3.0, *shorter[1:]] if ids[0] == 0 else shorter
        if self.fault == "reversed":
            values = [None, *(-20.0 - max(value, -20.0) for value in values[1:])]
        if self.fault == "unstable":
            values = [None, *(value - 0.3 * (self._times_asked(ids) % 2) for value in values[1:])]
        if self.fault == "a little noise":
            values = [None, *(value - 0.001 * (self._times_asked(ids) % 3) for value in values[1:])]
        if self.fault == "minus 9999":
            values = [None, *(-9999.0 if value < -12 else value for value in values[1:])]
        if self.fault == "other tokens":
            ids = [token + 1 for token in ids]
        if self.fault == "positive":
            values = [None, *(-value for value in values[1:])]
        if self.fault == "first has a value":
            values = [-1.0, *values[1:]]
        names = [f"token_id:{token}" for token in ids]
        if self.fault == "texts for ids":
            names = [str(token) for token in ids]
        logprobs: Reply | None = {
            "tokens": names,
            "token_logprobs": values,
            "top_logprobs": [None, *({"x": value} for value in best[1:])],
        }
        if self.fault == "ignores echo":
            logprobs = {"tokens": ["token_id:7"], "token_logprobs": [-1.0], "top_logprobs": [{"x": -1.0}]}
        if self.fault == "no log-probabilities":
            logprobs = None
        return {"choices": [{"text": "", "logprobs": logprobs}]}

    def _times_asked(self, ids: list[int]) -> int:
        return sum(body["prompt"] == ids for body in self.bodies)

    @torch.inference_mode()
    def _compute_log_probs(self, ids: list[int]) -> tuple[list[Any], list[Any]]:
        with self._lock:
            has_changed = self.changes_after is not None and len(self.bodies) > self.changes_after
            model = self.other if has_changed and self.changed(ids) else self.model
            logits = model(torch.tensor([ids])).logits[0].log_softmax(-1)
        after = [float(logits[i, token]) for i, token in enumerate(ids[1:])]
        best = [float(logits[i].max()) for i in range(len(ids) - 1)]
        return [None, *after], [None, *best]

    def _without_context(self, ids: list[int]) -> tuple[list[Any], list[Any]]:
        pairs = [self._compute_log_probs([0, token]) for token in ids[1:]]
        return [None, *(values[1] for values, _ in pairs)], [None, *(best[1] for _, best in pairs)]


@contextmanager
def serving(served: Served, chat: Callable[[dict[str, Any]], Reply] | None = None, name: str = "tiny") -> Iterator[str]:
    """The address of a server of the model under this name; with `chat`, also of chat completions."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._reply(200, {"data": [{"id": name, "max_model_len": served.model.config.n_positions}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            served.bodies.append(body)
            served.headers.append(dict(self.headers))
            if served.dies_after is not None and len(served.bodies) > served.dies_after:
                self.close_connection = True
                self.connection.close()
                return
            if served.silent_after is not None and len(served.bodies) > served.silent_after:
                served.waiting.release()
                served.ended.wait()
                self.close_connection = True
                return
            if served.failures:
                status, headers = served.failures.pop(0)
                self._reply(status, {"error": {"message": f"failure {status}"}}, headers)
                return
            if self.path.endswith("/chat/completions"):
                self._reply(200, (chat or (lambda _body: {}))(body))
            elif served.fault == "refuses no new token" and body["max_tokens"] == 0:
                self._reply(400, {"error": {"message": "max_tokens must be at least 1"}})
            elif served.fault == "not JSON":
                self._send(200, b"<html>hello</html>", {})
            else:
                self._reply(200, served.completion(body))

        def _reply(self, status: int, content: Reply, headers: dict[str, str] | None = None) -> None:
            self._send(status, json.dumps(content).encode(), headers or {})

        def _send(self, status: int, content: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

    with local_server(Handler) as address:
        try:
            yield f"{address}/v1"
        finally:
            served.ended.set()
