"""Translate the texts of an item together, with a system such as a chat model that keeps BLANK and knows the roles."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tiltmeter.forms import get_form
from tiltmeter.forms.blank import BLANK
from tiltmeter.making.draft import RepairFinding
from tiltmeter.making.glossary import read_glossary, select_terms
from tiltmeter.making.item_makers import TextToTranslate
from tiltmeter.making.project import Project
from tiltmeter.making.project_store import ProjectItem
from tiltmeter.making.similar_words import find_closest_words
from tiltmeter.translators import ItemTranslator
from tiltmeter.translators.translator_protocol import GlossaryTerm, ItemRequest, RequestedText

# The name of the finding about a text without the translation that the glossary fixes.
GLOSSARY_RULE = "glossary-term-missing"

# Explanations of roles, in addition to the name of the role.
_ROLES = {
    "stereotype": "it agrees with a stereotype about the term",
    "anti-stereotype": "it contradicts the stereotype",
    "unrelated": "it makes no sense here, and its translation should make no sense either",
    "more stereotypical": "it agrees more with a stereotype than the other sentence",
    "less stereotypical": "it agrees less with a stereotype than the other sentence",
}


@dataclass(frozen=True, slots=True)
class TranslatedItem:
    """An item with its translations by field and the findings about them; `failure` is the reason if there are none."""

    entry: ProjectItem
    texts: dict[str, str]
    findings: tuple[RepairFinding, ...] = ()
    failure: str = ""


def list_item_texts(project: Project, entry: ProjectItem) -> list[TextToTranslate]:
    """Return the texts of an item that are translated together; filled contexts follow from the other texts."""
    wanted = project.maker.list_texts_to_translate(project.get_source_item(entry))
    return [text for text in wanted if text.role != "filled"]


def build_requests(project: Project, entries: Sequence[ProjectItem]) -> list[ItemRequest]:
    """Return a request for each item, with the terms of the project's glossary that occur in its texts."""
    glossary = read_glossary(project.folder)
    return [_build_request(project, entry, glossary) for entry in entries]


def list_new_texts(project: Project, translator: ItemTranslator, entries: Sequence[ProjectItem]) -> list[str]:
    """Return the texts to send: those of all items whose translation is not stored."""
    new = translator.list_new_items(build_requests(project, entries), project.settings.language)
    return [text.text for index in new for text in list_item_texts(project, entries[index])]


def translate_items(
    project: Project, translator: ItemTranslator, entries: Sequence[ProjectItem]
) -> Iterator[TranslatedItem]:
    """Yield the translated items as their translations arrive."""
    requests = build_requests(project, entries)
    for index, translation in translator.translate_items(requests, project.settings.language):
        entry, request = entries[index], requests[index]
        if translation.failure:
            yield TranslatedItem(entry, {}, failure=translation.failure)
            continue
        keys = name_texts(project, entry)
        texts = {field: translation.texts[key] for field, key in keys.items()}
        sources = {text.key: text.text for text in request.texts}
        findings = tuple(
            RepairFinding(entry.id, field, GLOSSARY_RULE, "open", _describe_missing_term(term), texts[field])
            for field, key in keys.items()
            for term in select_terms(request.glossary, [sources[key]])
            if not find_closest_words(term.translation, texts[field])
        )
        yield TranslatedItem(entry, texts, findings)


def name_texts(project: Project, entry: ProjectItem) -> dict[str, str]:
    """Return the key of each text of an item in requests: its role, such as `stereotype`, or the name of its field."""
    item = project.get_source_item(entry)
    roles = get_form(project.settings.form).text_names(item)
    fields = [text.field for text in list_item_texts(project, entry)]
    keys = {field: roles.get(field, field).replace(" ", "_") for field in fields}
    return keys if len(set(keys.values())) == len(keys) else {field: field for field in fields}


def explain_texts(project: Project, entry: ProjectItem) -> list[RequestedText]:
    """Return the texts of an item with their keys and an explanation of their roles."""
    form, keys = get_form(project.settings.form), name_texts(project, entry)
    roles = form.text_names(project.get_source_item(entry))
    texts = []
    for text in list_item_texts(project, entry):
        kind = form.text_kind(text.field)
        if kind == "context":
            meaning = f"a sentence with the gap {BLANK}" if text.has_blank else "a sentence that others continue"
        elif kind == "word":
            meaning = f"a word or phrase for the gap {BLANK}"
        elif kind == "term":
            meaning = "the person or group that the item is about, in the form in which it occurs in the context"
        else:
            meaning = "a sentence"
        role = _ROLES.get(roles.get(text.field, ""), "")
        texts.append(RequestedText(keys[text.field], text.text, f"{meaning}; {role}" if role else meaning))
    return texts


def _build_request(project: Project, entry: ProjectItem, glossary: Sequence[GlossaryTerm]) -> ItemRequest:
    texts = explain_texts(project, entry)
    keys = name_texts(project, entry)
    kinds = {get_form(project.settings.form).text_kind(field): key for field, key in keys.items()}
    return ItemRequest(
        tuple(texts),
        tuple(select_terms(glossary, [text.text for text in texts])),
        term_key=kinds.get("term", ""),
        context_key=kinds.get("context", ""),
    )


def _describe_missing_term(term: GlossaryTerm) -> str:
    return f"The glossary translates {term.term!r} as {term.translation!r}, but this text has no similar word."
