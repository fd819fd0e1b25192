from dataclasses import replace

import pytest

from tests.making.drafts import alignment, draft, links
from tiltmeter.making.draft import Draft, RepairFinding
from tiltmeter.making.repair.language_rules import load_rules
from tiltmeter.making.repair.letter_cases import collect_letter_cases
from tiltmeter.making.repair.repair_resources import RepairResources
from tiltmeter.making.repair.target_terms import find_missing_targets
from tiltmeter.making.similar_words import find_closest_words
from tiltmeter.translators.word_alignment import ENOUGH_PAIRS


def finding(one: Draft, words: dict[str, str] | None = None, count: int = ENOUGH_PAIRS) -> RepairFinding:
    resources = RepairResources()
    if words is not None:
        resources = RepairResources(alignment=alignment({one.item: links(one, words)}, count))
    (found,) = find_missing_targets([one], resources)
    return found


DANE = draft("Die BLANK Dänin sang.", source="The BLANK Dane sang.", term=("Dane", "Däne"))


def test_a_term_in_its_context_is_no_problem() -> None:
    assert find_missing_targets([draft("DER GROSSE KOCH", term=("cook", "große Koch"))], RepairResources()) == []


def test_alignment_and_spelling_make_it_sure() -> None:
    found = finding(DANE, {"Dane": "Dänin"})
    assert (found.kind, found.new_text, found.before) == ("changed", "Dänin", "Däne")


def test_too_few_sentences_only_propose() -> None:
    found = finding(DANE, {"Dane": "Dänin"}, count=ENOUGH_PAIRS - 1)
    assert (found.kind, found.proposals[0], found.new_text) == ("proposed", "Dänin", "Däne")


def test_a_part_of_the_term_is_only_proposed() -> None:
    player = ("chess player", "jugador de ajedrez")
    one = draft("Los jugadores de ajedrez cantan.", source="The chess players sing.", term=player, language="es")
    part = finding(one, {"The": "Los", "chess": "de ajedrez", "sing": "cantan"})
    assert (part.kind, part.proposals[:2]) == ("proposed", ("jugadores de ajedrez", "de ajedrez"))
    whole = finding(one, {"The": "Los", "chess": "de ajedrez", "players": "jugadores", "sing": "cantan"})
    assert (whole.kind, whole.new_text) == ("changed", "jugadores de ajedrez")


FRENCH = RepairResources(load_rules("fr"))


def aligned(one: Draft, words: dict[str, str], resources: RepairResources = FRENCH) -> RepairFinding:
    (found,) = find_missing_targets([one], replace(resources, alignment=alignment({one.item: links(one, words)})))
    return found


@pytest.mark.parametrize(
    "words", [{}, {"chess": "échecs"}, {"The": "Les", "chess": "d échecs", "players": "Les joueurs"}]
)
def test_a_term_of_several_words_is_proposed_first(words: dict[str, str]) -> None:
    player = ("chess player", "joueur d'échecs")
    one = draft("Les joueurs d'échecs dansaient.", source="The chess players danced.", term=player, language="fr")
    assert aligned(one, words).proposals[0] == "joueurs d'échecs"


def test_articles_are_no_part_of_a_term() -> None:
    one = draft(
        "Le cuisinier BLANK l'aide.", source="The cooks BLANK help him.", term=("cook", "cuisinière"), language="fr"
    )
    found = aligned(one, {"cooks": "Le cuisinier"})
    assert found.proposals[0] == "cuisinier"
    assert "Le" not in found.proposals
    named = draft("La Mecque est BLANK.", source="Mecca is BLANK.", term=("Mecca", "La Mekke"), language="fr")
    assert aligned(named, {"Mecca": "La Mecque"}).proposals[0] == "La Mecque"


def test_a_word_of_the_source_is_never_sure() -> None:
    muslim = ("Muslim", "Musulmán")
    one = draft("O muslim BLANK canta.", source="The muslim BLANK sings.", term=muslim, language="gl")
    found = aligned(one, {"muslim": "muslim"})
    assert (found.kind, found.proposals[0]) == ("proposed", "muslim")
    assert "untranslated" in found.reason
    two = draft("O muslim e o musulmao cantan.", source="The muslim sings.", term=muslim, language="gl")
    assert aligned(two, {"muslim": "muslim"}).proposals[0] == "musulmao", "a word of the source comes last"
    name = draft("Ela é de Sierra Leona.", source="She is from Sierra Leon.", term=("Sierra Leon", "Sierra Leone"))
    assert aligned(name, {"Sierra": "Sierra", "Leon": "Leona"}).new_text == "Sierra Leona"


def test_a_part_with_another_number_of_words_is_only_proposed() -> None:
    one = draft(
        "El artista canta.", source="The performing artist sings.", term=("performing artist", "artista escénico")
    )
    found = aligned(one, {"performing": "artista", "artist": "artista"})
    assert (found.kind, found.proposals[0]) == ("proposed", "artista")


def test_the_term_of_other_items_is_sure() -> None:
    others = [
        draft(
            f"Sie ruft den Chef {number}.",
            source="She calls the manager.",
            term=("manager", "Chef"),
            item=f"m-{number}",
        )
        for number in range(3)
    ]
    one = draft("Der Chef war da.", source="The manager was there.", term=("manager", "Leiter"))
    pairs = {one.item: links(one, {"manager": "Chef"})}
    (found,) = find_missing_targets([*others, one], RepairResources(alignment=alignment(pairs)))
    assert (found.kind, found.new_text) == ("changed", "Chef")
    (found,) = find_missing_targets([*others[:2], one], RepairResources(alignment=alignment(pairs)))
    assert (found.kind, found.proposals[0]) == ("proposed", "Chef")


def test_a_term_at_the_start_has_a_small_letter() -> None:
    one = draft("Cuisiniers BLANK dansent.", source="Cooks BLANK dance.", term=("cook", "cuisinier x"), language="fr")
    shown = collect_letter_cases([draft("Elle voit des cuisiniers.", language="fr")])
    words = {"Cooks": "Cuisiniers"}
    assert aligned(one, words, replace(FRENCH, cases=shown)).proposals[0] == "cuisiniers"
    assert aligned(one, words).proposals[0] == "Cuisiniers"


def test_alignment_alone_proposes() -> None:
    one = draft("Der Chef war BLANK.", source="The manager was BLANK.", term=("manager", "Leiter"))
    found = finding(one, {"The": "Der", "manager": "Chef", "was": "war"})
    assert (found.kind, found.proposals) == ("proposed", ("Chef", "Der"))
    assert "word alignment" in found.reason


def test_without_an_aligner_the_closest_word_is_proposed() -> None:
    found = finding(DANE)
    assert (found.kind, found.proposals[0]) == ("proposed", "Dänin")
    assert "spelling" in found.reason


def test_nothing_found_is_open() -> None:
    found = finding(draft("Hm.", term=("manager", "Leiter")))
    assert (found.kind, found.proposals) == ("open", ())


def test_alignment_comes_before_spelling() -> None:
    one = draft("Ich habe arabische Lieder gern.", source="I like Arab songs.", term=("Arab", "Araber"))
    assert finding(one).proposals[:2] != ("arabische",)
    assert finding(one, {"Arab": "arabische", "like": "habe gern"}).proposals[0] == "arabische"


def test_terms_of_several_words_and_hyphens() -> None:
    one = draft(
        "Die darstellende Künstlerin sang.", source="The performing artist sang.", term=("performing artist", "x")
    )
    assert (
        finding(one, {"performing": "darstellende", "artist": "Künstlerin"}).proposals[0] == "darstellende Künstlerin"
    )
    two = draft("Der Schach-Spieler sang.", source="The player sang.", term=("player", "x"))
    assert finding(two, {"player": "Spieler"}).proposals[0] == "Schach-Spieler"
    three = draft("Der BLANK-Spieler sang.", source="The BLANK player sang.", term=("player", "x"))
    assert finding(three, {"player": "Spieler"}).proposals[0] == "Spieler"


def test_the_blank_is_never_proposed() -> None:
    one = draft("Der BLANK sang.", source="The BLANK cook sang.", term=("cook", "x"))
    assert finding(one, {"cook": "BLANK"}).kind == "open"


def test_words_that_seldom_stand_for_the_term_are_cut_off() -> None:
    one = draft("Die Arbeit eines Kochs ist BLANK.", source="A cook's work is BLANK.", term=("cook", "x"), item="c-1")
    others = [
        draft("Der Kuss eines Kindes.", source="The kiss of a child.", term=("child", "y"), item=f"k-{number}")
        for number in range(9)
    ]
    more = draft("Das Lob des Kochs.", source="The cook's praise.", term=("cook", "x"), item="c-2")
    pairs = {one.item: links(one, {"cook": "eines Kochs"}), more.item: links(more, {"cook": "Kochs"})}
    pairs |= {other.item: links(other, {"child": "Kindes", "a": "eines"}) for other in others}
    found = {f.item: f for f in find_missing_targets([one, more, *others], RepairResources(alignment=alignment(pairs)))}
    assert found["c-1"].proposals[0] == "Kochs"


def test_a_word_that_goes_with_the_term_is_proposed_with_it() -> None:
    drafts = [
        draft(f"Sie {verb} sich selbst.", source=f"She {verb} herself.", term=("herself", "x"), item=verb)
        for verb in ("mag", "malt", "sieht")
    ]
    pairs = {one.item: links(one, {"She": "Sie", one.item: one.item, "herself": "selbst"}) for one in drafts}
    for found in find_missing_targets(drafts, RepairResources(alignment=alignment(pairs))):
        assert found.proposals == ("sich selbst", "selbst")


def test_an_article_does_not_go_with_the_term() -> None:
    drafts = [
        draft(f"Der Koch {verb}.", source=f"The cook {verb}.", term=("cook", "x"), item=verb)
        for verb in ("malt", "tanzt", "singt")
    ]
    pairs = {one.item: links(one, {"The": "Der", "cook": "Koch", one.item: one.item}) for one in drafts}
    for found in find_missing_targets(drafts, RepairResources(alignment=alignment(pairs))):
        assert found.proposals == ("Koch",)


def test_an_alignment_of_another_text_is_not_used() -> None:
    one = draft("Der Chef war BLANK.", source="The manager was BLANK.", term=("manager", "Leiter"))
    stale = alignment({one.item: links(one, {"manager": "Chef"})})
    (found,) = find_missing_targets(
        [one.replace_translation("context", "Sie war BLANK.")], RepairResources(alignment=stale)
    )
    assert found.proposals != ("Chef",)


def test_items_that_wait_for_a_person_are_left() -> None:
    assert find_missing_targets([DANE], RepairResources(pending=frozenset({DANE.item}))) == []


@pytest.mark.parametrize(
    ("term", "sentence", "expected"),
    [
        ("Däne", "Die Dänin und der DÄNISCHE Koch", ["DÄNISCHE", "Die", "Dänin"]),
        ("blanke", "Der BLANK Koch", []),
        ("zwei Wörter", "mit zwei Wörtern", ["mit zwei", "zwei Wörtern"]),
        ("zwei Wörter", "BLANK Wörter", []),
    ],
)
def test_closest_words(term: str, sentence: str, expected: list[str]) -> None:
    assert sorted(find_closest_words(term, sentence)) == sorted(expected)
