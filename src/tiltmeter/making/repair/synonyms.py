"""The repair step `synonyms`: the rules of a language choose one translation of a term, and replace its synonyms.

If the term and the replaced word have different genders, the article before the term is changed too. If several
articles are possible, or if a candidate word may have to agree with the term, the new context is only proposed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from tiltmeter.forms.blank import BLANK
from tiltmeter.forms.case_folding import find_folded, fold_case
from tiltmeter.making.draft import Draft, FindingKind, RepairFinding
from tiltmeter.making.repair.language_rules import LanguageRules, SynonymRule
from tiltmeter.making.repair.repair_resources import RepairResources

RULE = "synonym"
_PLURAL = re.compile(r"e?s(?![\w'’])")


def find_synonym_errors(drafts: Sequence[Draft], resources: RepairResources) -> list[RepairFinding]:
    """Find contexts and target terms in which a synonym is used instead of the term that the rules choose."""
    return [finding for draft in drafts for finding in _check_draft(draft, resources.rules)]


def _check_draft(draft: Draft, rules: LanguageRules) -> Iterator[RepairFinding]:
    name, context = draft.get_single_field("term"), draft.get_single_field("context")
    if name is None or context is None:
        return
    synonym = rules.synonyms.get(fold_case(draft.source[name]))
    if synonym is None:
        return
    text, term = draft.texts[context], draft.texts[name]
    plural = _is_plural(draft.source[context], draft.source[name])
    rewritten, replaced = replace_synonyms(text, synonym, plural=plural)
    chosen = _find_term(rewritten, synonym, replaced)
    if chosen is None:
        return
    if replaced:
        by_gender = rules.gender_in_plural or not plural
        former = {synonym.genders.get(word.split()[-1], synonym.gender) for word in replaced} if by_gender else set()
        yield _build_context_finding(
            draft, context, rewritten, next(iter(replaced)), synonym, former - {synonym.gender}, rules
        )
    if term != chosen:
        reason = f"The rules of the language use {synonym.term!r} for {synonym.source!r}."
        yield RepairFinding(draft.item, name, RULE, "changed", reason, term, (chosen,))


def _find_term(text: str, synonym: SynonymRule, replaced: Mapping[str, str]) -> str | None:
    """Return the term as it occurs in a rewritten context: the rule's term, or the form that replaced a synonym.

    Return None if the context contains neither.
    """
    if find_folded(text, synonym.term) is not None:
        return synonym.term
    return next((written.split()[-1] for written in replaced.values()), None)


def _is_plural(source: str, term: str) -> bool:
    span = find_folded(source, term)
    return span is not None and _PLURAL.match(source, span[1]) is not None


def replace_synonyms(text: str, synonym: SynonymRule, *, plural: bool) -> tuple[str, dict[str, str]]:
    """Replace synonyms by forms of the rule's term; return the new text, and a mapping from replaced word to form.

    >>> forms = {"Rad": "Fahrrad", "Rads": "Fahrrads"}
    >>> bike = SynonymRule("bike", "Fahrrad", forms=forms, plural={"Räder": "Fahrräder"})
    >>> replace_synonyms("Der Wert des Rads ist BLANK.", bike, plural=False)
    ('Der Wert des Fahrrads ist BLANK.', {'Rads': 'Fahrrads'})
    """
    chosen = {**synonym.forms, **synonym.plural} if plural else synonym.forms
    forms = {fold_case(form): written for form, written in chosen.items()}
    replaced: dict[str, str] = {}

    def get_form(match: re.Match[str]) -> str:
        written = forms[fold_case(match[0])]
        if match[0].isupper():
            written = written.upper()
        elif match[0][0].isupper():
            # A replaced word with a capital may be the first word of the sentence, so the form gets a capital too.
            written = written[0].upper() + written[1:]
        replaced[match[0]] = written
        return written

    if not chosen:
        return text, {}
    longest_first = sorted(chosen, key=len, reverse=True)
    pattern = rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest_first))})(?!\w)"
    return re.sub(pattern, get_form, text, flags=re.IGNORECASE), replaced


def _build_context_finding(
    draft: Draft,
    context: str,
    rewritten: str,
    replaced: str,
    synonym: SynonymRule,
    former: set[str],
    rules: LanguageRules,
) -> RepairFinding:
    """Return the finding about a context in which synonyms were replaced.

    `former` are the genders of replaced words that differ from the gender of the term.
    """
    text = draft.texts[context]
    reason = f"The rules of the language use {synonym.term!r} for {synonym.source!r}, not {replaced!r}."
    if not former:
        return RepairFinding(draft.item, context, RULE, "changed", reason, text, (rewritten,))
    changes = rules.articles.get(f"{min(former)}>{synonym.gender}", {})
    proposals = _replace_article(rewritten, synonym.term, changes)
    kind: FindingKind = "proposed" if len(proposals) > 1 or BLANK in text else "changed"
    reason += " The gender is different: check articles, pronouns and candidate words."
    return RepairFinding(draft.item, context, RULE, kind, reason, text, proposals)


def _replace_article(text: str, term: str, changes: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return one text for each possible new article before the term; only the unchanged text if no article changes.

    >>> _replace_article("Das Koch sang.", "Koch", {"das": ("der", "den")})
    ('Der Koch sang.', 'Den Koch sang.')
    """
    pattern = re.compile(rf"\b(\w+)(?= (?:{BLANK} )?{re.escape(term)})", re.IGNORECASE)
    match = pattern.search(text)
    become = changes.get(match[1].lower(), ()) if match else ()
    if match is None or not become:
        return (text,)
    capital = match[1][0].isupper()
    written = [article.capitalize() if capital else article for article in become]
    return tuple(text[: match.start(1)] + article + text[match.end(1) :] for article in written)
