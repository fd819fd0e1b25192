"""Speed of requests to a server: Tiltmeter compared with a plain asyncio loop that sends the same requests.

    python -m perf.endpoints --requests 4000 --concurrency 32 --latency 0.02

The server is a stub in a separate process that answers each request after the latency. The loop only sends requests and
parses replies; Tiltmeter also plans, checks every token and stores every answer. Both are timed in alternating turns.
"""

import argparse
import asyncio
import json
import math
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httpx2

from tiltmeter.engine.answer_store import AnswerStore
from tiltmeter.http_client.client import Client
from tiltmeter.models.endpoint import EndpointModel
from tiltmeter.models.openai import OpenAiDialect
from tiltmeter.models.served_identity import ServedIdentity
from tiltmeter.models.server_confirmation import REPEATED, WINDOW
from tiltmeter.models.server_self_test import SelfTestResult
from tiltmeter.questions import Question

_TOKENS = 20


def questions(number: int) -> list[Question]:
    """Return questions about all tokens of texts with twenty tokens and different beginnings."""
    texts = [tuple(range(start, start + _TOKENS)) for start in range(number)]
    return [Question(ids, tuple((i, ids[i + 1]) for i in range(_TOKENS - 1))) for ids in texts]


def serve(latency: float, port: Connection) -> None:
    """Answer completions after the latency until the process is stopped."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            arrived = time.monotonic()
            length = next(
                int(line.split(b":")[1]) for line in head.lower().splitlines() if line.startswith(b"content-length")
            )
            reply = json.dumps(_reply(json.loads(await reader.readexactly(length)))).encode()
            await asyncio.sleep(max(0.0, arrived + latency - time.monotonic()))
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(reply) + reply
            )
            await writer.drain()

    async def main() -> None:
        server = await asyncio.start_server(_quietly(handle), "127.0.0.1", 0)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


def _quietly(handle: Any) -> Any:
    async def handled(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handle(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    return handled


def _reply(body: dict[str, Any]) -> dict[str, Any]:
    ids = body["prompt"]
    values = [None, *(-1.0 for _ in ids[1:])]
    tops = [None, *({"x": -1.0} for _ in ids[1:])]
    tokens = [f"token_id:{token}" for token in ids]
    return {"choices": [{"logprobs": {"tokens": tokens, "token_logprobs": values, "top_logprobs": tops}}]}


@contextmanager
def stub(latency: float) -> Iterator[str]:
    """Start a server in a separate process, and yield its address."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(latency, theirs), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}/v1"
    finally:
        process.terminate()


def plain_loop(address: str, asked: list[Question], concurrency: int) -> None:
    """Send the requests with a plain asyncio loop."""
    dialect = OpenAiDialect()
    bodies = iter([dialect.build_request("stub", question.ids).body for question in asked])

    async def worker(http: httpx2.AsyncClient) -> None:
        for body in bodies:
            response = await http.post(f"{address}/completions", json=body)
            response.json()

    async def main() -> None:
        limits = httpx2.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
        async with httpx2.AsyncClient(limits=limits, timeout=60) as http:
            await asyncio.gather(*(worker(http) for _ in range(concurrency)))

    asyncio.run(main())


def by_tiltmeter(address: str, asked: list[Question], concurrency: int) -> None:
    """Send the requests like a run, after the self-test."""
    model = EndpointModel(
        name="stub",
        served="stub",
        dialect=OpenAiDialect(),
        client=Client(address, concurrency=concurrency),
        tokenizer=None,
        tokenizer_name="none",
    )
    model.__dict__["_self_test_result"] = SelfTestResult([], 0.0)
    model.__dict__["_identity"] = ServedIdentity(["stub"], [], None)
    with tempfile.TemporaryDirectory() as folder, AnswerStore(Path(folder) / "answers.sqlite") as store:
        answers = model.answer(asked, kind="causal", store=store, names={}, report=lambda _progress: None)
    # The confirmation repeats some questions after each window.
    again = REPEATED * math.ceil(len(asked) / WINDOW)
    if len(answers) != len(asked) or model.requests_sent != len(asked) + again:
        raise SystemExit(f"{len(answers)} answers by {model.requests_sent} requests for {len(asked)} questions")


def main() -> None:
    """Measure both and print the ratio."""
    parser = argparse.ArgumentParser(prog="python -m perf.endpoints", description=__doc__)
    parser.add_argument("--requests", type=int, default=4000)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument(
        "--latency", type=float, default=0.02, help="the time until the server answers a request, in seconds"
    )
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    asked = questions(options.requests)
    seconds: dict[str, list[float]] = {"plain loop": [], "tiltmeter": []}
    ways = {"plain loop": plain_loop, "tiltmeter": by_tiltmeter}
    with stub(options.latency) as address:
        for way in ways.values():
            way(address, asked[:200], options.concurrency)
        for turn in range(options.repeats):
            for name in list(ways)[:: 1 if turn % 2 else -1]:
                began = time.perf_counter()
                ways[name](address, asked, options.concurrency)
                seconds[name].append(time.perf_counter() - began)
    ratios = [loop / own for loop, own in zip(seconds["plain loop"], seconds["tiltmeter"], strict=True)]
    for name, times in seconds.items():
        print(f"{name}: {options.requests / statistics.median(times):,.0f} requests a second")
    print(f"most possible: {options.concurrency / options.latency:,.0f} requests a second")
    print(f"tiltmeter / plain loop: {statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})")


if __name__ == "__main__":
    main()
