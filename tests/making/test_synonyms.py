import pytest

from tests.making.drafts import draft
from tiltmeter.making.repair.language_rules import parse_rules
from tiltmeter.making.repair.repair_resources import RepairResources
from tiltmeter.making.repair.synonyms import find_synonym_errors

RULES = RepairResources(
    parse_rules(
        """
gender_in_plural = false
[[synonym]]
source = "bicycle"
term = "Fahrrad"
gender = "n"
forms = { Rad = "Fahrrad", "des Rades" = "des Fahrrads", Drahtesel = "Fahrrad", Straßenrad = "Fahrrad" }
plural = { Räder = "Fahrräder", Drahtesel = "Fahrräder" }
genders = { Drahtesel = "m" }
[articles."m>n"]
der = ["das"]
ein = ["ein"]
den = ["das"]
dem = ["dem"]
diesen = ["dieses", "jenes"]
""".replace("Räder =", '"Räder" =').replace("Straßenrad =", '"Straßenrad" ='),
        "rules",
    )
)


@pytest.mark.parametrize(
    ("source", "context", "kind", "proposals"),
    [
        ("The bicycle is old.", "Das Rad ist alt.", "changed", ["Das Fahrrad ist alt."]),
        ("A bicycle's price", "Der Preis des Rades", "changed", ["Der Preis des Fahrrads"]),
        ("The bicycles are old.", "Die Räder sind alt.", "changed", ["Die Fahrräder sind alt."]),
        ("THE BICYCLE", "DAS RAD", "changed", ["DAS FAHRRAD"]),
        ("The road bicycle", "Das Straßenrad", "changed", ["Das Fahrrad"]),
        ("The bicycle is old.", "Der Drahtesel ist alt.", "changed", ["Das Fahrrad ist alt."]),
        ("The bicycles are old.", "Die Drahtesel sind alt.", "changed", ["Die Fahrräder sind alt."]),
        (
            "I like this bicycle.",
            "Ich mag diesen Drahtesel.",
            "proposed",
            ["Ich mag dieses Fahrrad.", "Ich mag jenes Fahrrad."],
        ),
        ("The BLANK bicycle", "Der BLANK Drahtesel", "proposed", ["Das BLANK Fahrrad"]),
        ("The BLANK bicycle", "Das BLANK Rad", "changed", ["Das BLANK Fahrrad"]),
    ],
)
def test_contexts_are_rewritten(source: str, context: str, kind: str, proposals: list[str]) -> None:
    finding, *_ = find_synonym_errors([draft(context, source=source, term=("bicycle", "Fahrrad"))], RULES)
    assert (finding.field, finding.kind, list(finding.proposals)) == ("context", kind, proposals)


def test_the_term_follows() -> None:
    context, term = find_synonym_errors([draft("Das Rad.", source="The bicycle.", term=("Bicycle", "Rad"))], RULES)
    assert (context.field, context.new_text) == ("context", "Das Fahrrad.")
    assert (term.field, term.new_text) == ("target_term", "Fahrrad")


def test_a_form_that_does_not_contain_the_term_is_the_term_of_the_item() -> None:
    one = draft("Die Räder.", source="The bicycles.", term=("bicycle", "Rad"))
    assert [finding.new_text for finding in find_synonym_errors([one], RULES)] == ["Die Fahrräder.", "Fahrräder"]


def test_a_context_that_has_the_term_is_left() -> None:
    assert find_synonym_errors([draft("Das Fahrrad.", source="The bicycle.", term=("bicycle", "Fahrrad"))], RULES) == []


@pytest.mark.parametrize("context", ["Das Motorrad.", "Das Mofa."])
def test_other_words_are_left(context: str) -> None:
    assert find_synonym_errors([draft(context, source="The bicycle.", term=("bicycle", "Rad"))], RULES) == []


def test_other_terms_are_left() -> None:
    assert find_synonym_errors([draft("Das Rad.", source="The wheel.", term=("wheel", "Rad"))], RULES) == []
