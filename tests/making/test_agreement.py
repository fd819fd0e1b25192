import pytest

from tests.making.drafts import WORD, draft
from tiltmeter.making.repair.grammatical_agreement import find_agreement_errors, is_form_of, is_inflection_of
from tiltmeter.making.repair.language_rules import LanguageRules, load_rules
from tiltmeter.making.repair.repair_resources import ProjectAlignment, RepairResources
from tiltmeter.translators.word_alignment import AlignedPair, tokenize_words

PLAIN = RepairResources(LanguageRules(endings=(frozenset(("", "e", "s")), frozenset(("o", "a", "os", "as")))))


@pytest.mark.parametrize(
    ("context", "word", "filled", "kind", "proposals"),
    [
        ("La jardinera es BLANK.", "tranquilo", "La jardinera es tranquila.", "changed", ("tranquila",)),
        ("Die BLANK Köchin sang.", "geduldig", "Die geduldige Köchin sang.", "changed", ("geduldige",)),
        ("Der Koch mag BLANK.", "mond", "Der Koch mag Mond.", "changed", ("Mond",)),
        ("BLANK cantan.", "niño", "Niños cantan.", "changed", ("niños",)),
        ("La jardinera es BLANK.", "tranquilo", "La jardinera es paciente.", "proposed", ("paciente",)),
        ("La jardinera es BLANK.", "tranquilo", "Es tranquila, la jardinera.", "proposed", ("tranquila",)),
    ],
)
def test_words_take_the_form_of_the_sentence(
    context: str, word: str, filled: str, kind: str, proposals: tuple[str, ...]
) -> None:
    (finding,) = find_agreement_errors([draft(context, word=("patient", word), filled=filled)], PLAIN)
    assert (finding.field, finding.kind, finding.proposals) == (WORD, kind, proposals)


def test_a_form_of_another_word_is_only_proposed() -> None:
    one = draft("O cociñeiro BLANK.", word=("polite", "educado"), filled="O cociñeiro educou.", language="gl")
    (finding,) = find_agreement_errors([one], RepairResources(load_rules("gl")))
    assert (finding.kind, finding.proposals) == ("proposed", ("educou",))


@pytest.mark.parametrize(
    ("language", "form", "word", "expected"),
    [
        ("gl", "educada", "educado", True),
        ("gl", "educou", "educado", False),
        ("es", "pobres", "pobre", True),
        ("es", "felices", "feliz", True),
        ("es", "trabajó", "trabajo", False),
        ("fr", "heureuse", "heureux", True),
        ("fr", "bonnes", "bon", True),
        ("fr", "mangé", "mange", False),
        ("de", "geduldigen", "geduldig", True),
        ("tr", "sabırlıydı", "sabırlı", False),
    ],
)
def test_endings_of_gender_and_number(language: str, form: str, word: str, expected: bool) -> None:
    assert is_inflection_of(form, word, load_rules(language).endings) is expected


@pytest.mark.parametrize(
    ("context", "word", "filled"),
    [
        ("La jardinera es BLANK.", "tranquila", "La jardinera es tranquila."),
        ("BLANK cantan.", "niños", "Niños cantan."),
        ("Er war BLANK.", "Lehrer(in)", "Er war Lehrer(in)."),
        ("La jardinera es BLANK.", "tranquila", "Tranquila es la jardinera, tranquila."),
    ],
)
def test_words_that_agree_are_left(context: str, word: str, filled: str) -> None:
    assert find_agreement_errors([draft(context, word=("patient", word), filled=filled)], PLAIN) == []


def test_without_a_filled_sentence_nothing_is_said() -> None:
    assert find_agreement_errors([draft("La jardinera es BLANK.")], PLAIN) == []


def test_an_ending_at_the_blank_is_only_proposed() -> None:
    one = draft("Bahçıvan BLANK'tı.", word=("patient", "sabırlı"), filled="Bahçıvan sabırlıydı.", language="tr")
    (finding,) = find_agreement_errors([one], PLAIN)
    assert (finding.kind, finding.proposals) == ("proposed", ("sabırlıydı",))


def test_alignment_finds_the_word_where_the_sentence_differs() -> None:
    one = draft("Der Gärtner war BLANK.", word=("calm", "gelassen"), filled="Ruhig blieb er.")
    source, target = tuple(tokenize_words(one.fill_source(WORD))), tuple(tokenize_words(one.filled[WORD]))
    link = frozenset({(3, 0)})
    aligned = ProjectAlignment({}, {(one.item, WORD): AlignedPair(source, target, link, link)}, 5)
    (finding,) = find_agreement_errors([one], RepairResources(alignment=aligned))
    assert (finding.kind, finding.proposals) == ("proposed", ("Ruhig",))
    (nothing,) = find_agreement_errors([one], PLAIN)
    assert (nothing.kind, nothing.proposals) == ("open", ())


@pytest.mark.parametrize(
    ("form", "word", "expected"),
    [
        ("alte", "alt", True),
        ("a", "an", False),
        ("ist", "in", False),
        ("alter Mann", "alt", False),
        ("gelassen", "geduldig", False),
    ],
)
def test_forms_of_a_word(form: str, word: str, expected: bool) -> None:
    assert is_form_of(form, word) is expected
