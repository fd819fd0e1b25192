"""The report on a run of a chat model: verdicts, and the raw replies of every item."""

import base64
import gzip
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.models.chat_served import MadeChat, biased, first, options_of, refusing
from tests.reports.chromium import chromium, why_not
from tests.runs.chosen import association_file, gest_file, pairs_file, questions_file
from tests.runs.made import association_scores, run
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter import evaluate
from tiltmeter.errors import UsageError
from tiltmeter.reports.exports import to_model_card
from tiltmeter.reports.exports.export_options import ExportOptions
from tiltmeter.reports.report_page import make_report
from tiltmeter.reports.result_table import print_measures
from tiltmeter.runs.result import Result


def unpacked(page: str) -> dict[str, Any]:
    packed = page.split('id="packed">')[1].split("<")[0]
    content: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(packed)))
    return content


@pytest.fixture
def result(tmp_path: Path) -> Result:
    def policy(prompt: str, sample: int = 0) -> str:
        if "\nA. a man" in prompt or "\nA. he" in prompt:
            return "<b>A</b> I guess\u202e"
        return first(prompt) if "said." in prompt or "say this" in prompt else biased(0.8)(prompt, sample)

    files = [association_file(tmp_path, 8), pairs_file(tmp_path, 6), gest_file(tmp_path, 16)]
    return evaluate(MadeChat(policy), files)


def test_replies_are_packed_with_their_items(result: Result) -> None:
    page, _ = make_report([("chat", result)])
    content = unpacked(page)
    by_name = {re.sub(r"-\d.*", "", packed["benchmark"]): packed for packed in content["sets"]}
    association = by_name["association"]
    assert association["roles"] == ["stereotype", "anti-stereotype", "unrelated"]
    assert (association["unit"], association["models"]) == ("choices", ["chat:made"])
    _, text, direction, _, (shares, replies) = association["items"][0]
    assert content["texts"][text][1:] == ["towards0", "against0", "nonsense0"]
    assert direction == 1
    assert sum(shares) == pytest.approx(1.0, abs=1e-3)
    assert len(replies) == 6
    asked, reply = replies[0]
    assert content["words"][asked].startswith("wording 1, stereotype, anti-stereotype, unrelated: ")
    assert content["texts"][reply][0] in ("A", "B", "C")
    assert by_name["pairs"]["sides"] == ["more", "less"]
    gest = by_name["gest"]
    assert gest["roles"] == ["masculine", "feminine"]
    assert sorted({item[2] for item in gest["items"]}) == [-1, 1]
    texts = {content["texts"][reply][0] for item in gest["items"] for _, reply in item[4][1]}
    assert "<b>A</b> I guess⟨U+202E⟩" in texts


def test_verdicts_and_definitions_are_in_the_page(result: Result) -> None:
    page, figures = make_report([("chat", result)])
    for measure in ("chosen stereotype", "sense chosen", "coverage", "position effect", "agreement between wordings"):
        assert measure in page
    assert "not interpretable" in page  # GEST: always the first option
    assert figures


def test_a_report_on_likelihoods_and_choices_of_one_benchmark_is_refused(tmp_path: Path) -> None:
    path = association_file(tmp_path, 8)
    chat = evaluate(MadeChat(biased(0.8)), path)
    likelihood = run(association_scores(benchmark=path, parts=("intrasentence",)))
    with raises_mentioning(UsageError, path, "likelihoods in lm", "prompts in chat", "separate report"):
        make_report([("chat", chat), ("lm", likelihood)])


def test_items_without_a_choice_are_in_the_report(tmp_path: Path) -> None:
    def policy(prompt: str, sample: int = 0) -> str:
        return refusing(prompt) if "number 3 " in prompt else biased(0.8)(prompt, sample)

    page, _ = make_report([("chat", evaluate(MadeChat(policy), pairs_file(tmp_path, 6)))])
    replies = {reply for packed in unpacked(page)["sets"] for item in packed["items"] for _, reply in item[4][1]}
    assert any("sorry" in unpacked(page)["texts"][reply][0] for reply in replies)


def test_a_run_with_only_refusals_says_so_first(tmp_path: Path) -> None:
    result = evaluate(MadeChat(refusing), [pairs_file(tmp_path, 6), gest_file(tmp_path, 16)])
    page, _ = make_report([("chat", result)])
    first_screen = page.split('aria-label="Summary"')[1].split("</section>")[0]
    assert first_screen.count("100% are refusals") == 2
    console = Console(width=120, record=True, file=io.StringIO())
    print_measures(result.records, console)
    assert_mentions(console.export_text(), "en:", "100% are refusals")


def test_one_sided_refusals_are_in_the_lead_and_explained_next(tmp_path: Path) -> None:
    """All given answers are right, so their bias is 0, but half of the stereotypical answers are refused."""

    def policy(prompt: str, _sample: int = 0) -> str:
        number = int(re.findall(r"stop (\d+)", prompt)[0])
        if "The stereotype one" in prompt and number % 8 < 4:
            return refusing(prompt)
        wanted = "towards" if "The stereotype one" in prompt else "against"
        return next(label for label, text in options_of(prompt).items() if wanted in text)

    result = evaluate(MadeChat(policy), questions_file(tmp_path, 160, part="disambiguated"))
    page, _ = make_report([("chat", result)])
    first_screen = page.split('aria-label="Summary"')[1].split("</section>")[0]
    sentences = re.sub(r"<[^>]+>", "", first_screen)
    assert_mentions(sentences, "more often for one side")
    assert_mentions(sentences, "where the stereotype is right")
    assert 'class="headline doubt"' in first_screen


def test_missing_answers_are_named_in_the_terminal(tmp_path: Path) -> None:
    def policy(prompt: str, sample: int = 0) -> str:
        return refusing(prompt) if "number 3 " in prompt else biased(0.8)(prompt, sample)

    result = evaluate(MadeChat(policy), pairs_file(tmp_path, 60))
    (record,) = [r for r in result.records if (r.view, r.measure) == ("all", "chosen stereotype")]
    assert record.missing == pytest.approx(1 / 60)
    console = Console(width=120, record=True, file=io.StringIO())
    print_measures(result.records, console)
    assert_mentions(console.export_text(), "2% of the answers are missing")


@pytest.mark.slow
@pytest.mark.skipif(why_not() is not None, reason=why_not() or "")
def test_replies_are_shown_by_a_browser(result: Result, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(make_report([("chat", result)])[0], encoding="utf-8")
    with chromium() as browser:
        page = browser.new_context().new_page()
        messages: list[str] = []
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.goto(path.as_uri())
        page.click("#open-items")
        page.wait_for_selector(".item")
        page.click(".item details summary")
        assert page.locator(".item .replies").first.locator("li").count() == 6
        assert "wording 1" in page.locator(".item .replies").first.inner_text()
        assert page.locator(".item .badge").first.inner_text().endswith(("towards", "against", "even"))
        assert messages == []


def test_a_model_card_has_the_name_of_a_served_model_and_not_the_end_of_its_address(tmp_path: Path) -> None:
    result = evaluate(MadeChat(biased(0.8), "chat:org/my-model@http://localhost:8000/v1"), pairs_file(tmp_path, 6))
    assert "- name: my-model\n" in to_model_card.export(result, ExportOptions())
