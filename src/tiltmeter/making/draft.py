"""Drafts (the translations of an item before the review), and the findings of repair steps about drafts."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeVar

from tiltmeter.forms import TextType, get_form
from tiltmeter.forms.blank import fill_blank

# The kinds of findings. changed: a change of a proven rule, which is applied. proposed: a likely change, which a
# reviewer must confirm. open: a problem without a proposal.
FindingKind = Literal["changed", "proposed", "open"]


@dataclass(frozen=True, slots=True)
class Draft:
    """The source texts of an item (`source`) and their current translations (`texts`).

    The keys of all mappings are the fields of `Form.translatable`. For each field of a candidate word, `filled` has the
    translation of the context with the word filled in, and `alone` has the translation of the word without a context.
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
        """Return the first field of this type of text; None if the draft has no such field."""
        fields = self.list_fields(kind)
        return fields[0] if fields else None

    def fill_source(self, word: str) -> str:
        """Return the source context with a source word filled in; `word` is the name of the word's field."""
        context = self.get_single_field("context")
        return fill_blank(self.source[context], self.source[word]) if context is not None else self.source[word]

    def replace_translation(self, field: str, text: str) -> "Draft":
        """Return a copy of the draft in which `text` is the translation of the field."""
        return replace(self, texts={**self.texts, field: text})


@dataclass(frozen=True, slots=True)
class RepairFinding:
    """A change or a problem that a repair step found in one text.

    `before` is the text in which the step found the problem. `proposals` are possible new texts, best first. The first
    proposal of a `changed` finding is the new text. An `open` finding has no proposals. `rule` is the name of the
    repair step or of the language's rule. `reason` is a sentence for the reviewer.
    """

    item: str
    field: str
    rule: str
    kind: FindingKind
    reason: str
    before: str
    proposals: tuple[str, ...] = ()

    @property
    def new_text(self) -> str:
        """The new text of a `changed` finding; for other findings, the unchanged text."""
        return self.proposals[0] if self.kind == "changed" else self.before


def count_findings(findings: Iterable[RepairFinding]) -> Counter[tuple[str, FindingKind]]:
    """Return the number of findings for each pair of rule and kind."""
    return Counter((finding.rule, finding.kind) for finding in findings)


class _EntryWithItem(Protocol):
    @property
    def item(self) -> str: ...


_Entry = TypeVar("_Entry", bound=_EntryWithItem)


def group_by_item(entries: Iterable[_Entry]) -> dict[str, list[_Entry]]:
    """Return a dictionary from item id to the findings, problems, decisions or rows about this item."""
    groups: dict[str, list[_Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.item, []).append(entry)
    return groups
