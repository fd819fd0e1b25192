"""The samples of `perf.repair_precision` for synthetic items."""

from dataclasses import replace

from perf.repair_precision import Change, collect_changes, count_multi_word, draw_sample, is_for_development, list_forms
from tests.making.drafts import draft
from tiltmeter.making.draft import RepairFinding
from tiltmeter.making.repair import repair_drafts
from tiltmeter.making.repair.rule_precision import ALL_PROVEN


def change(item: str) -> Change:
    return Change(RepairFinding(item, "context", "spaces", "changed", "…", "a  b", ("a b",)), draft("a  b", item=item))


def test_samples_are_held_aside_and_reproducible() -> None:
    changes = [change(f"i{number}") for number in range(400)]
    sample = draw_sample(changes, development=False)
    assert sample == draw_sample(changes[::-1], development=False)
    assert len(sample) == 100
    assert not any(is_for_development(one.finding.item) for one in sample)
    development = draw_sample(changes, development=True, size=400)
    assert all(is_for_development(one.finding.item) for one in development)
    assert 40 < len(development) < 130
    assert len(draw_sample(changes[:90], development=False)) == 90, "the others complete a small sample"


def test_only_changes_are_collected() -> None:
    one = draft("El cocinero  está BLANK.", language="es")
    repaired = repair_drafts([one], precision=ALL_PROVEN)
    collected = collect_changes([one], repaired.findings)
    assert list(collected) == ["spaces"]
    assert collected["spaces"][0].format().startswith("'El cocinero  está BLANK.' -> 'El cocinero está BLANK.'")


def test_terms_of_several_words_are_counted() -> None:
    player = ("chess player", "joueur d'échecs")
    one = draft("Les joueurs d'échecs sont BLANK.", term=player, language="fr", item="a")
    other = draft("Les musiciens sont BLANK.", term=player, language="fr", item="b")
    findings = repair_drafts([one, other]).findings
    assert count_multi_word([one, other], findings) == (1, 1, [])
    assert count_multi_word([one, other], [])[:2] == (0, 1)


def test_forms_of_a_term_are_counted_without_case() -> None:
    drafts = [draft("x", term=("Cook", form), item=form) for form in ("Koch", "koch", "Köchin")]
    assert list_forms([*drafts, replace(drafts[0], item="again")]) == {"cook": 2}
