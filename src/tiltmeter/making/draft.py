"""A draft: the translations of an item before review; and the findings of repair steps about it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeVar

from tiltmeter.forms import TextType, get_form
from tiltmeter.forms.blank import fill_blank

# changed: a safe change, applied; proposed: a likely change, for a reviewer to confirm; open: no proposal.
FindingKind = Literal["changed", "proposed", "open"]


@dataclass(frozen=True, slots=True)
class Draft:
    """The source texts of an item and their current translations, with the fields of `Form.translatable` as keys.

    For candidate words, `filled` has the translation of the context with the word filled in, and `alone` the
    translation of the word without a context; the keys are the fields of the words.
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
        """Return the translated fields of this type of text, in the order of the form.

        >>> draft = Draft("a", "association", "en", "de", {}, {"target_term": "Koch", "context": "Der Koch war BLANK."})
        >>> draft.list_fields("context")
        ['context']
        """
        text_kind = get_form(self.form).text_kind
        return [field for field in self.texts if text_kind(field) == kind]

    def get_single_field(self, kind: TextType) -> str | None:
        """Return the first field of this type of text, or None."""
        fields = self.list_fields(kind)
        return fields[0] if fields else None

    def fill_source(self, word: str) -> str:
        """Return the source context with the source text of the field `word` filled in."""
        context = self.get_single_field("context")
        return fill_blank(self.source[context], self.source[word]) if context is not None else self.source[word]

    def with_text(self, field: str, text: str) -> "Draft":
        """Return a copy with another translation of one field."""
        return replace(self, texts={**self.texts, field: text})


@dataclass(frozen=True, slots=True)
class RepairFinding:
    """A change or a problem that a repair step found in one text, with proposals, best first.

    The first proposal of a `changed` finding is the new text; an `open` finding has no proposals. `rule` names the
    repair step or the rule of the language; `reason` is a sentence for the reviewer.
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
        """The new text of a `changed` finding; otherwise the text as it was."""
        return self.proposals[0] if self.kind == "changed" else self.before


def apply_findings(draft: Draft, findings: Iterable[RepairFinding]) -> Draft:
    """Return the draft with the `changed` findings applied in order; proposals are not applied.

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
    """Count findings by rule and kind."""
    return Counter((finding.rule, finding.kind) for finding in findings)


class _HasItem(Protocol):
    @property
    def item(self) -> str: ...


_Entry = TypeVar("_Entry", bound=_HasItem)


def group_by_item(entries: Iterable[_Entry]) -> dict[str, list[_Entry]]:
    """Group findings, problems, decisions or rows by the id of their item."""
    groups: dict[str, list[_Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.item, []).append(entry)
    return groups
