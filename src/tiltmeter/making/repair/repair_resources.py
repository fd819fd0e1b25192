"""The resources of repair steps: the repair rules of the language, and the word alignment of the sentences."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tiltmeter.making.draft import Draft
from tiltmeter.making.repair.language_rules import LanguageRules
from tiltmeter.making.repair.letter_cases import LetterCases
from tiltmeter.translators.word_alignment import ENOUGH_PAIRS, AlignedPair, Eflomal, tokenize_words


@dataclass(frozen=True, slots=True)
class ProjectAlignment:
    """The word alignments of all sentences (`texts`) and filled contexts of a project with their sources.

    The keys are item id and field. A filled context is the context with a candidate word filled in.

    `pairs` is the number of sentences that were aligned with their sources.
    """

    texts: Mapping[tuple[str, str], AlignedPair] = field(default_factory=dict)
    filled: Mapping[tuple[str, str], AlignedPair] = field(default_factory=dict)
    pairs: int = 0

    @property
    def is_reliable(self) -> bool:
        """Whether the aligner was trained on enough pairs for safe changes."""
        return self.pairs >= ENOUGH_PAIRS

    def get_alignment(self, draft: Draft, field: str) -> AlignedPair | None:
        """Return the alignment of a text with its source; None if the text was changed after the alignment."""
        aligned = self.texts.get((draft.item, field))
        if aligned is None or list(aligned.target) != tokenize_words(draft.texts[field]):
            return None
        return aligned


@dataclass(frozen=True, slots=True)
class RepairResources:
    """The repair rules of the language, and the word alignment, which is empty if no aligner is available.

    `cases` tells which words the texts of the project write with a capital.
    `pending` are the ids of items for which an earlier step proposes another context; later steps skip these items.
    """

    rules: LanguageRules = field(default_factory=LanguageRules)
    alignment: ProjectAlignment = field(default_factory=ProjectAlignment)
    pending: frozenset[str] = frozenset()
    cases: LetterCases = field(default_factory=LetterCases)


def align_project(drafts: Iterable[Draft], aligner: Eflomal | None) -> ProjectAlignment:
    """Train the aligner on all sentences of the drafts, and return the word alignment of the sentences."""
    if aligner is None:
        return ProjectAlignment()
    keys: list[tuple[str, str, bool]] = []
    pairs: list[tuple[str, str]] = []
    for draft in drafts:
        for name in (*draft.list_fields("context"), *draft.list_fields("sentence")):
            keys.append((draft.item, name, False))
            pairs.append((draft.source[name], draft.texts[name]))
        for name, sentence in draft.filled.items():
            keys.append((draft.item, name, True))
            pairs.append((draft.fill_source(name), sentence))
    aligned = list(zip(keys, aligner.align_pairs(pairs), strict=True))
    return ProjectAlignment(
        {(item, name): pair for (item, name, is_filled), pair in aligned if not is_filled},
        {(item, name): pair for (item, name, is_filled), pair in aligned if is_filled},
        len(pairs),
    )
