"""An item on its way into another language, and what a repair step says about it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from tiltmeter.forms import TextType, get_form
from tiltmeter.forms.blank import fill_blank

# changed: sure, and already done; proposed: likely, for a person to confirm; open: for a person to solve.
FindingKind = Literal["changed", "proposed", "open"]


@dataclass(frozen=True, slots=True)
class Draft:
    """The source texts of an item and their translations, by field as the form names them in `translatable`.

    `filled` and `alone` are about the words that fill a blank, by the field of the word: the translation of the context
    with the word filled in, and that of the word without a context. `texts` has the current translations, in which the
    word may have been changed since.
    """

    item: str
    form: str
    source_language: str
    language: str
    source: Mapping[str, str]
    texts: Mapping[str, str]
    filled: Mapping[str, str] = field(default_factory=dict)
    alone: Mapping[str, str] = field(default_factory=dict)

    def list_fields(self, kind: TextType) -> list[str]:
        """The translated fields of this kind, in the form's order.

        >>> draft = Draft("a", "association", "en", "de", {}, {"target_term": "Koch", "context": "Der Koch war BLANK."})
        >>> draft.list_fields("context")
        ['context']
        """
        text_kind = get_form(self.form).text_kind
        return [field for field in self.texts if text_kind(field) == kind]

    def get_single_field(self, kind: TextType) -> str | None:
        """The only field of this kind; None if there is none."""
        fields = self.list_fields(kind)
        return fields[0] if fields else None

    def fill_source(self, word: str) -> str:
        """The source context with the source word of the field `word` filled in."""
        context = self.get_single_field("context")
        return fill_blank(self.source[context], self.source[word]) if context is not None else self.source[word]

    def with_text(self, field: str, text: str) -> "Draft":
        """A copy with another current translation of one field."""
        return replace(self, texts={**self.texts, field: text})


@dataclass(frozen=True, slots=True)
class RepairFinding:
    """A change that a repair step made, or a problem that it leaves to a person, with its proposals, best first.

    Of a `changed` finding, the first proposal is the new text; an `open` one has no proposals. `rule` names the step,
    or the rule of a language, and is what findings are counted by; `reason` is a sentence for the reviewer.
    """

    item: str
    field: str
    rule: str
    kind: FindingKind
    reason: str
    before: str
    proposals: tuple[str, ...] = ()

    @property
    def after(self) -> str:
        """The text after the finding: the new one if it was changed, otherwise that before."""
        return self.proposals[0] if self.kind == "changed" else self.before


def apply_findings(draft: Draft, findings: Iterable[RepairFinding]) -> Draft:
    """The draft with all changes made, in order; proposals are left to people.

    >>> draft = Draft("a", "association", "en", "de", {}, {"context": "Er war BLANK ."})
    >>> change = RepairFinding("a", "context", "spaces", "changed", "…", "Er war BLANK .", ("Er war BLANK.",))
    >>> dict(apply_findings(draft, [change]).texts)
    {'context': 'Er war BLANK.'}
    """
    for finding in findings:
        if finding.item == draft.item and finding.kind == "changed":
            draft = draft.with_text(finding.field, finding.after)
    return draft


def count_findings(findings: Iterable[RepairFinding]) -> Counter[tuple[str, FindingKind]]:
    """How many findings there are, by rule and kind."""
    return Counter((finding.rule, finding.kind) for finding in findings)
