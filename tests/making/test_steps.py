"""The repair steps that look at one text at a time: spacing, punctuation, casing, rewriting."""

import pytest

from tests.making.drafts import WORD, draft
from tiltmeter.making.draft import Draft, RepairFinding
from tiltmeter.making.repair.capitals import find_casing_errors
from tiltmeter.making.repair.language_rules import LanguageRules, load_rules, parse_rules
from tiltmeter.making.repair.letter_cases import collect_letter_cases
from tiltmeter.making.repair.punctuation import find_punctuation_errors
from tiltmeter.making.repair.repair_resources import RepairResources
from tiltmeter.making.repair.rewrite_rules import find_rewrites
from tiltmeter.making.repair.spacing import find_spacing_errors

PLAIN = RepairResources()


def brief(findings: list[RepairFinding]) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(finding.rule, finding.kind, finding.proposals) for finding in findings]


@pytest.mark.parametrize(
    ("context", "rule", "mended"),
    [
        ("Der BLANK-Koch sang.", "dash-at-blank", "Der BLANK Koch sang."),
        ("Der Hobby-BLANK sang.", "dash-at-blank", "Der Hobby BLANK sang."),
        ("Der Koch war BLANK-.", "dash-at-blank", "Der Koch war BLANK."),
        ("Der Koch war BLANK – heute.", None, ""),
        ("Der Koch  war\u00a0BLANK. ", "spaces", "Der Koch war BLANK."),
        ("Der Koch war BLANK .", "space-before-punctuation", "Der Koch war BLANK."),
        ("Der Koch war BLANK.", None, ""),
    ],
)
def test_spacing(context: str, rule: str | None, mended: str) -> None:
    found = brief(find_spacing_errors([draft(context)], PLAIN))
    assert found == ([(rule, "changed", (mended,))] if rule else [])


def test_several_mendings_follow_each_other() -> None:
    first, second = find_spacing_errors([draft("Der  BLANK-Koch sang.")], PLAIN)
    assert first.new_text == second.before == "Der  BLANK Koch sang."
    assert second.new_text == "Der BLANK Koch sang."


def test_french_keeps_the_space_before_a_mark_of_two_parts() -> None:
    french = RepairResources(load_rules("fr"))
    assert find_spacing_errors([draft("Le cuisinier est BLANK !", language="fr")], french) == []
    (finding,) = find_spacing_errors([draft("Le cuisinier est BLANK .", language="fr")], french)
    assert finding.new_text == "Le cuisinier est BLANK."


@pytest.mark.parametrize(
    ("context", "mended"),
    [
        ("Le cuisinier est BLANK\u00a0!", ""),
        ("Il a dit «\u202fBLANK\u202f» à 50\u00a0%.", ""),
        ("Le  cuisinier\u00a0est BLANK\u00a0!", "Le cuisinier est BLANK\u00a0!"),
    ],
)
def test_french_keeps_spaces_that_do_not_break(context: str, mended: str) -> None:
    found = brief(find_spacing_errors([draft(context, language="fr")], RepairResources(load_rules("fr"))))
    assert found == ([("spaces", "changed", (mended,))] if mended else [])


def test_letters_at_the_blank_are_left_to_a_person() -> None:
    (glued,) = find_spacing_errors([draft("Der BLANKste Koch sang.")], PLAIN)
    assert (glued.rule, glued.kind, glued.proposals) == ("attached-blank", "open", ())
    (ending,) = find_spacing_errors([draft("Aşçı BLANK'tı.", language="tr")], PLAIN)
    assert (ending.kind, ending.proposals) == ("proposed", ("Aşçı BLANK.",))
    assert find_spacing_errors([draft("C'est l'BLANK.", language="fr")], PLAIN) == []


@pytest.mark.parametrize(
    ("word", "rule", "kind", "proposals"),
    [
        ("Mond-", "punctuation-in-word", "changed", ("Mond",)),
        ("„ruhig“.", "punctuation-in-word", "changed", ("ruhig",)),
        ("warm, lauwarm", "several-words", "proposed", ("warm", "lauwarm")),
        ("Lehrer(in)", "several-words", "proposed", ("Lehrer", "Lehrerin")),
        ("(sehr) warm", "several-words", "proposed", ("warm", "sehr warm")),
        ("–", "punctuation-in-word", "open", ()),
    ],
)
def test_punctuation_in_words(word: str, rule: str, kind: str, proposals: tuple[str, ...]) -> None:
    findings = find_punctuation_errors([draft("Es war BLANK.", word=("calm", word))], PLAIN)
    assert brief(findings) == [(rule, kind, proposals)]


@pytest.mark.parametrize(
    ("source", "word"), [("email", "E-Mail"), ("rock'n'roll", "Rock'n'Roll"), ("either/or", "a/b")]
)
def test_punctuation_that_belongs_to_a_word(source: str, word: str) -> None:
    assert find_punctuation_errors([draft("Es war BLANK.", word=(source, word))], PLAIN) == []


def with_cases(*drafts: Draft) -> RepairResources:
    return RepairResources(cases=collect_letter_cases(drafts))


def test_a_capital_is_removed_where_other_texts_show_a_small_letter() -> None:
    turkish = draft("Bahçıvan BLANK.", word=("warm", "Ilık"), language="tr")
    shown = with_cases(draft("Hava çok ılık, BLANK.", language="tr"))
    assert brief(find_casing_errors([turkish], shown)) == [("casing", "changed", ("ılık",))]
    assert brief(find_casing_errors([turkish], PLAIN)) == [("casing", "proposed", ("ılık",))]
    filled = draft("Bahçıvan BLANK.", word=("warm", "Ilık"), filled="Bahçıvan bugün ılık.", language="tr")
    assert brief(find_casing_errors([filled], PLAIN)) == [("casing", "changed", ("ılık",))]


@pytest.mark.parametrize(("source", "word"), [("warm", "TV"), ("Asian", "Asyalı"), ("youtube", "YouTube")])
def test_capitals_that_are_no_error(source: str, word: str) -> None:
    assert find_casing_errors([draft("Bahçıvan BLANK.", word=(source, word), language="tr")], PLAIN) == []
    assert find_casing_errors([draft("BLANK bahçıvan.", word=("warm", "Ilık"), language="tr")], PLAIN) == []


@pytest.mark.parametrize(
    ("language", "word", "text"),
    [
        ("tr", "Afrikalı", "Bugün Afrika'dan geldim."),
        ("tr", "İslam", "Bana İslam'ı anlat."),
        ("es", "Navidad", "Canta la Navidad en casa, y otra navidad."),
        ("fr", "Italien", "Elle aime l'Italienne et son vélo italien."),
        ("de", "Mary", ""),
    ],
)
def test_a_word_that_other_texts_or_lists_capitalise_keeps_its_capital(language: str, word: str, text: str) -> None:
    one = draft("Es war BLANK.", word=("small letters", word), language=language)
    assert find_casing_errors([one], with_cases(one, draft(text, language=language))) == []


def test_the_word_after_the_blank_has_a_capital_only_if_it_needs_one() -> None:
    one = draft("BLANK É unha flor.", source="BLANK is a flower.", language="gl")
    shown = with_cases(one, draft("Isto é BLANK e isto é bo.", language="gl"))
    assert brief(find_casing_errors([one], shown)) == [("capital-after-blank", "changed", ("BLANK é unha flor.",))]
    assert find_casing_errors([one], with_cases(one)) == [], "no other text shows the small letter"
    italian = draft("O BLANK Italiano canta.", source="The BLANK italian sings.", language="gl")
    other = draft("Un italiano e un Italiano cantan.", language="gl")
    assert find_casing_errors([italian], with_cases(italian, other)) == []


def test_a_capital_of_the_filled_sentence_stays() -> None:
    one = draft("Bahçıvan BLANK.", word=("asian", "Asyalı"), filled="Bahçıvan Asyalı.", language="tr")
    assert find_casing_errors([one], PLAIN) == []


def test_french_elision() -> None:
    french = RepairResources(load_rules("fr"))
    (finding,) = find_rewrites([draft("Il dit que elle est BLANK.", language="fr")], french)
    assert (finding.kind, finding.proposals) == ("proposed", ("Il dit qu’elle est BLANK.",))
    assert find_rewrites([draft("Crois-le ou non, la une est BLANK.", language="fr")], french) == []


def test_nouns_keep_their_capital_where_the_language_has_them() -> None:
    one = draft("Der Gärtner war BLANK.", word=("moon", "Mond"))
    assert find_casing_errors([one], RepairResources(load_rules("de"))) == []
    assert len(find_casing_errors([one], PLAIN)) == 1


def test_casing_of_sentences() -> None:
    (finding,) = find_casing_errors([draft("ist der Gärtner BLANK?", language="tr")], PLAIN)
    assert (finding.field, finding.new_text) == ("context", "İst der Gärtner BLANK?")
    small = draft("der Gärtner war BLANK.", source="the gardener was BLANK.")
    assert find_casing_errors([small], PLAIN) == []


def test_rewriting_rules_are_counted_by_name() -> None:
    spanish = RepairResources(load_rules("es"))
    one = draft("El amigo de el jardinero va a el mar con BLANK.", language="es")
    findings = find_rewrites([one], spanish)
    assert [finding.rule for finding in findings] == ["es-del", "es-al"]
    assert findings[-1].new_text == "El amigo del jardinero va al mar con BLANK."
    assert find_rewrites([draft("La gente de El Salvador es BLANK.", language="es")], spanish) == []


def test_turkish_endings_have_an_apostrophe() -> None:
    turkish = RepairResources(load_rules("tr"))
    one = draft('Norveç"te bahçıvan BLANK"tır, "güzel" dedi.', language="tr")
    (finding,) = find_rewrites([one], turkish)
    assert (finding.rule, finding.new_text) == ("tr-quotation-mark", 'Norveç’te bahçıvan BLANK’tır, "güzel" dedi.')


def test_an_unsure_rule_only_proposes() -> None:
    rules = parse_rules(
        '[[rewrite]]\nname = "r"\npattern = "a+"\nreplacement = "a"\nreason = "…"\nin = ["word"]\nsure = false',
        "x.toml",
    )
    (finding,) = find_rewrites([draft("aa BLANK", word=("a", "aa"))], RepairResources(rules))
    assert (finding.field, finding.kind, finding.proposals) == (WORD, "proposed", ("a",))


@pytest.mark.parametrize("language", ["de", "fr", "es", "tr"])
def test_the_rules_can_be_read(language: str) -> None:
    assert load_rules(language) != LanguageRules()
