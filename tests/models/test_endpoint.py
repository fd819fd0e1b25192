"""Models on a server: the same numbers as on this machine, and errors for servers with wrong numbers."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tiltmeter
from tests.models.served import Served, serving, train
from tests.support.messages import raises_mentioning
from tests.support.patience import PATIENCE
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.http_client.client import Client, Request
from tiltmeter.models import server_confirmation
from tiltmeter.models.endpoint import EndpointModel
from tiltmeter.models.model_opener import open_given_model
from tiltmeter.models.server_confirmation import REPEATED
from tiltmeter.models.server_self_test import PROBES
from tiltmeter.models.text_plan import TextPlan
from tiltmeter.options import ModelOptions
from tiltmeter.questions import Question, WantedQuantity


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return tmp_path / "cache"


def opened(address: str, folder: Path, cache: Path | None = None, **options: object) -> EndpointModel:
    model = open_given_model(
        f"openai:tiny@{address}",
        ModelOptions(tokenizer=str(folder), cache=cache, **options),  # type: ignore[arg-type]
    )
    assert isinstance(model, EndpointModel)
    model.client.pauses = (0.01,) * 5
    return model


@pytest.mark.parametrize(
    "on", ["starter/intrasentence:en", "starter/intersentence:en", "starter-pairs:en", "starter-gest:en"]
)
def test_scores_are_those_of_the_model_on_this_machine(folder: Path, on: str) -> None:
    with serving(Served(folder)) as address:
        served = tiltmeter.evaluate(f"openai:tiny@{address}", on, tokenizer=str(folder), protocol="published", limit=12)
    local = tiltmeter.evaluate(str(folder), on, limit=12)
    np.testing.assert_allclose(served.scores["score"], local.scores["score"], atol=2e-5)
    assert list(served.scores["item"]) == list(local.scores["item"])
    (about,) = [model.details for model in served.manifest.models]
    assert about["endpoint"] == address
    assert about["served"] == "tiny"
    assert about["noise"] < 1e-6


# A part of the error for each fault of the server.
FAULTS = {
    "ignores echo": "returns 1 log-probabilities",
    "no log-probabilities": "`echo` or `logprobs`",
    "drops the first token": "`echo`",
    "adds a token": "token 1",
    "other tokens": "tokenizer differs",
    "texts for ids": "`return_tokens_as_token_ids`",
    "off by one": "off by one",
    "off by one, later": "off by one",
    "first has a value": "the first token",
    "constant": "changes no log-probability",
    "zero": "changes no log-probability",
    "drops the context": "ignores the context",
    "no beginning": "drops the start token",
    "reversed": "--tokenizer",
    "unstable": "changed by 0.30",
    "positive": "as a log-probability",
    "not JSON": "JSON",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_server_that_would_give_wrong_numbers_is_rejected(folder: Path, fault: str) -> None:
    served = Served(folder, fault)
    with serving(served) as address, raises_mentioning(ModelError, FAULTS[fault]) as error:
        tiltmeter.evaluate(f"openai:tiny@{address}", "starter/intrasentence:en", tokenizer=str(folder), limit=3)
    assert address in str(error.value)


def test_a_little_noise_is_reported(folder: Path) -> None:
    with serving(Served(folder, "a little noise")) as address:
        result = tiltmeter.evaluate(
            f"openai:tiny@{address}", "starter/intrasentence:en", tokenizer=str(folder), limit=3
        )
    assert 1e-4 < result.manifest.models[0].details["noise"] < 0.05


def test_a_probability_of_zero_is_an_error(folder: Path) -> None:
    with serving(Served(folder, "minus 9999")) as address, raises_mentioning(ModelError, "probability of zero", "item"):
        tiltmeter.evaluate(f"openai:tiny@{address}", "starter/intrasentence:en", tokenizer=str(folder))


def test_a_server_that_must_generate_a_token(folder: Path) -> None:
    served = Served(folder, "refuses no new token")
    with serving(served) as address:
        tiltmeter.evaluate(f"openai:tiny@{address}", "starter/intrasentence:en", tokenizer=str(folder), limit=3)
    assert [body["max_tokens"] for body in served.bodies[:2]] == [0, 1]
    assert {body["max_tokens"] for body in served.bodies[1:]} == {1}


def test_only_confirmations_ask_again(folder: Path, cache: Path) -> None:
    served = Served(folder)
    with serving(served) as address:
        opened(address, folder, cache).fingerprint("causal")
        self_test = len(served.bodies)
        arguments = {"tokenizer": str(folder), "limit": 6}
        first = tiltmeter.evaluate(f"openai:tiny@{address}", "starter/intrasentence:en", **arguments)
        asked = len(served.bodies)
        again = tiltmeter.evaluate(f"openai:tiny@{address}", "starter/intrasentence:en", **arguments)
    np.testing.assert_array_equal(first.scores["score"], again.scores["score"])
    prompts = [tuple(body["prompt"]) for body in served.bodies]
    of_first, of_again = Counter(prompts[2 * self_test : asked]), Counter(prompts[asked + self_test :])
    assert max(of_first.values()) == 2
    assert max(of_again.values()) == 1
    assert of_again.total() <= REPEATED
    assert set(of_again) < set(of_first)


def test_stored_answers_of_another_model_are_not_used(folder: Path, tmp_path: Path, cache: Path) -> None:
    served = Served(folder)
    with serving(served) as address:
        one = opened(address, folder, cache).fingerprint("causal")
        assert opened(address, folder, cache).fingerprint("causal") == one
        served.model.transformer.h[1].mlp.c_proj.weight.data *= 2
        other = opened(address, folder, cache).fingerprint("causal")
        assert other != one
        served.model.transformer.h[1].mlp.c_proj.weight.data /= 2
        assert opened(address, folder, cache).fingerprint("causal") == one


def test_noise_does_not_make_another_model(folder: Path, cache: Path) -> None:
    with serving(Served(folder, "a little noise")) as address:
        prints = {opened(address, folder, cache).fingerprint("causal") for _ in range(3)}
    assert len(prints) == 1


def test_failures_that_pass_are_tried_again(folder: Path, cache: Path) -> None:
    served = Served(folder)
    served.failures = [(500, {}), (429, {"Retry-After": "0"}), (503, {})]
    with serving(served) as address:
        opened(address, folder, cache).fingerprint("causal")
    assert not served.failures


# A run with windows of eight requests, confirmed by the probes and four questions.
SHORT_WINDOWS = """
import runpy, sys
from tiltmeter.models import server_confirmation
server_confirmation.WINDOW, server_confirmation.REPEATED = 8, 4
sys.argv[0] = "tiltmeter"
runpy.run_module("tiltmeter", run_name="__main__")
"""


def test_a_killed_run_loses_only_what_was_not_confirmed(
    folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = Served(folder)
    with serving(served) as address:
        opened(address, folder, cache).fingerprint("causal")
        probes = len(served.bodies)
        # The self-tests of this process and of the run, a window with its confirmation, and two requests of the next.
        served.silent_after = 2 * probes + 8 + len(PROBES) + 4 + 2
        command = ["run", f"openai:tiny@{address}", "--tokenizer", str(folder), "--on", "starter/intrasentence:en"]
        run = subprocess.Popen(
            [sys.executable, "-c", SHORT_WINDOWS, *command, "--concurrency", "4"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            assert all(served.waiting.acquire(timeout=PATIENCE) for _ in range(4))
        finally:
            run.kill()
            run.wait()
        served.silent_after = None
        confirmed = {tuple(body["prompt"]) for body in served.bodies[2 * probes : 2 * probes + 8]}
        monkeypatch.setattr(server_confirmation, "REPEATED", 2)
        before = len(served.bodies)
        tiltmeter.evaluate(f"openai:tiny@{address}", "starter/intrasentence:en", tokenizer=str(folder))
    again = [ids for body in served.bodies[before + probes :] if (ids := tuple(body["prompt"])) in confirmed]
    assert len(again) <= 2


def test_the_key_is_sent_and_shown_nowhere(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TILTMETER_API_KEY", "sk-very-secret")
    served = Served(folder)
    with serving(served) as address:
        result = tiltmeter.evaluate(
            f"openai:tiny@{address}", "starter/intrasentence:en", tokenizer=str(folder), limit=3, out=tmp_path / "run"
        )
        assert {headers["Authorization"] for headers in served.headers} == {"Bearer sk-very-secret"}
        for path in (tmp_path / "run").rglob("*"):
            assert b"sk-very-secret" not in path.read_bytes()
        assert "sk-very-secret" not in repr(
            open_given_model(f"openai:tiny@{address}", ModelOptions(tokenizer=str(folder)))
        )
        served.failures = [(400, {})]
        client = Client(address.replace("http://", "http://ada:pass-word@"), key="failure")
        with pytest.raises(ModelError) as error:
            client.send_request(Request("/completions", {"prompt": [1]}))
        assert "pass-word" not in str(error.value)
        assert "(*** 400)" in str(error.value)
    assert "sk-very-secret" not in str(result.manifest)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("openai:tiny", "openai:MODEL@ADDRESS"),
        ("openai:@http://localhost:1/v1", "openai:MODEL@ADDRESS"),
        ("openai:tiny@localhost:8000", "localhost:8000"),
    ],
)
def test_names_without_a_server(name: str, part: str, folder: Path) -> None:
    with raises_mentioning(UsageError, part):
        open_given_model(name, ModelOptions(tokenizer=str(folder)))


def test_a_model_that_is_not_served(folder: Path) -> None:
    with serving(Served(folder)) as address, raises_mentioning(ModelError, "serve other", "tiny"):
        open_given_model(f"openai:other@{address}", ModelOptions(tokenizer=str(folder))).max_length  # noqa: B018


def test_a_tokenizer_has_to_be_named() -> None:
    with raises_mentioning(ModelError, "no-such-model", "--tokenizer FOLDER_OR_ID"):
        open_given_model("openai:no-such-model@http://localhost:1/v1", ModelOptions())


def test_an_unknown_protocol_is_an_error(folder: Path) -> None:
    with serving(Served(folder)) as address, pytest.raises((ModelError, UsageError)):
        tiltmeter.evaluate(
            f"openai:tiny@{address}", "starter-pairs:en", tokenizer=str(folder), protocol="no-such-protocol"
        )


def test_a_plan_sends_the_longest_texts_alone() -> None:
    questions = [
        Question((0, 1, 2, 3), ((0, 1), (1, 2), (2, 3))),
        Question((0, 1), ((1, 2), (1, 7))),
        Question((0, 1, 2), ((2, 9),), want=WantedQuantity.LOG_PROB_AND_TOP),
    ]
    plan = TextPlan(questions)
    assert sorted(plan.texts) == [(0, 1, 2, 3), (0, 1, 2, 9), (0, 1, 7)]


def test_a_local_model_with_another_tokenizer(folder: Path, tmp_path: Path) -> None:
    import shutil

    from transformers import AutoTokenizer

    bare = tmp_path / "bare"
    shutil.copytree(folder, bare, ignore=shutil.ignore_patterns("*token*"))
    own = tiltmeter.evaluate(str(folder), "starter/intrasentence:en", limit=4)
    named = tiltmeter.evaluate(str(bare), "starter/intrasentence:en", limit=4, tokenizer=str(folder))
    assert list(own.scores["score"]) == list(named.scores["score"])
    assert named.manifest.request["tokenizer"] == str(folder)
    larger = AutoTokenizer.from_pretrained(folder)
    larger.add_tokens([f"<new{number}>" for number in range(9)])
    larger.save_pretrained(tmp_path / "larger")
    with raises_mentioning(ModelError, f"tokenizer {tmp_path / 'larger'}", str(bare)):
        tiltmeter.evaluate(str(bare), "starter/intrasentence:en", limit=4, tokenizer=str(tmp_path / "larger"))
