"""Projects of candidate items: a template, an identity and an attribute from a table of stereotypes.

The candidates are a starting point for people. Each item therefore has open problems until a person has decided on it.
"""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tiltmeter
from tiltmeter.datasets.file_hashes import get_sha256
from tiltmeter.datasets.raw_records import build_item
from tiltmeter.datasets.readers.jsonl import format_line
from tiltmeter.errors import UsageError
from tiltmeter.forms import Item, get_form
from tiltmeter.forms.association import ROLES
from tiltmeter.forms.blank import BLANK
from tiltmeter.forms.fields import is_language_code
from tiltmeter.making.draft import RepairFinding
from tiltmeter.making.item_makers import WRITTEN
from tiltmeter.making.project import Project, validate_new_folder, write_project
from tiltmeter.making.project_settings import ProjectSettings, SourceFacts
from tiltmeter.making.project_store import ProjectItem
from tiltmeter.making.rating.rating_plan import RATING_FILE
from tiltmeter.making.timestamp import get_timestamp
from tiltmeter.making.toml_values import read_toml
from tiltmeter.making.writing.stereotype_table import StereotypeRow, read_stereotype_table
from tiltmeter.making.writing.writing_plan import WRITING_FILE
from tiltmeter.making.writing.written_item_ratings import build_rating_plan
from tiltmeter.measures.bootstrap import create_generator

FORM = "association"
IDENTITY_PLACE = "{identity}"
# The name in the history of items for texts that no person wrote.
_TEMPLATE_WRITER = "template"
_WARNING = "The items express stereotypes about groups of people, some of them offensive."


@dataclass(frozen=True, slots=True)
class TemplateOptions:
    """The options for candidate items.

    `templates` contain `{identity}` and BLANK; `unrelated` are words that describe no group of people. The default of
    both is the list of the language. A row is a stereotype if at least `votes` raters call it one. `bias_type` is the
    bias type of all items. At most `limit` items are made.
    """

    templates: Sequence[str] = ()
    unrelated: Sequence[str] = ()
    votes: int = 2
    bias_type: str = "nationality"
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A candidate item: its row, its template and its other two words.

    `is_rejected` is true if the anti-stereotype is an attribute that raters rejected for the same identity.
    """

    row: StereotypeRow
    template: str
    anti_stereotype: str
    unrelated: str
    is_rejected: bool

    def to_json(self, item: str, language: str, bias_type: str) -> dict[str, Any]:
        """Return the item as an object of JSONL."""
        words = (self.row.attribute, self.anti_stereotype, self.unrelated)
        return {
            "id": item,
            "part": "intrasentence",
            "language": language,
            "bias_type": bias_type,
            "target": self.row.target,
            "target_term": self.row.identity,
            "context": self.template.replace(IDENTITY_PLACE, self.row.identity),
            "candidates": dict(zip(ROLES, words, strict=True)),
        }


def create_template_project(
    folder: Path | str, table: Path, *, language: str, options: TemplateOptions | None = None
) -> Project:
    """Create and return a project of candidate items from a table of stereotypes; see `read_stereotype_table`."""
    folder, options = Path(folder), options or TemplateOptions()
    validate_new_folder(folder)
    if not is_language_code(language):
        raise UsageError(f"{language!r} is not a language code; use a code such as de or pt-BR.")
    templates, unrelated = _choose_texts(language, options)
    candidates = _build_candidates(read_stereotype_table(table), templates, unrelated, options)
    made = [_build_item(candidate, f"t-{at}", language, options) for at, candidate in enumerate(candidates, start=1)]
    settings = ProjectSettings(
        source=WRITTEN,
        source_language=language,
        language=language,
        form=FORM,
        makes=FORM,
        system=WRITTEN,
        created=get_timestamp(),
        tiltmeter=tiltmeter.__version__,
        facts=SourceFacts(warning=_WARNING, files={table.name: get_sha256(table)}),
        prompts={},
        review="all",
    )
    files = {WRITING_FILE: _build_plan(candidates), RATING_FILE: build_rating_plan(FORM)}
    project = write_project(folder, settings, (_build_entry(item) for item in made), files)
    with project.store.begin_transaction():
        for candidate, item in zip(candidates, made, strict=True):
            _store_texts(project, item)
            project.store.replace_findings(item.id, "source", _list_findings(candidate, item))
            project.store.set_stage(item.id, "repaired")
    return project


def _choose_texts(language: str, options: TemplateOptions) -> tuple[Sequence[str], Sequence[str]]:
    """Return the templates and the unrelated words: those of the options, or those of the language."""
    packaged = read_toml(Path(__file__).with_name("templates.toml"))
    own = packaged.read_table(language.split("-")[0].lower())
    templates = options.templates or own.read_texts("templates")
    unrelated = options.unrelated or own.read_texts("unrelated")
    for template in templates:
        if template.count(IDENTITY_PLACE) != 1 or template.count(BLANK) != 1:
            raise UsageError(
                f"The template {template!r} must contain {IDENTITY_PLACE} and {BLANK} once each, as in "
                f"'The word that fits {IDENTITY_PLACE} is {BLANK}.'"
            )
    for name, texts in (("template", templates), ("unrelated", unrelated)):
        if not texts:
            known = ", ".join(packaged.values)
            raise UsageError(f"--{name} is missing: Tiltmeter has such texts only for {known}; add --{name} TEXT.")
    return templates, unrelated


def _build_candidates(
    rows: Sequence[StereotypeRow], templates: Sequence[str], unrelated: Sequence[str], options: TemplateOptions
) -> list[_Candidate]:
    """Return the candidate items, one identity after another in turn, so that a limit keeps many identities."""
    by_identity: dict[str, list[StereotypeRow]] = {}
    for row in rows:
        by_identity.setdefault(row.identity.casefold(), []).append(row)
    queues = [list(_pair_attributes(own, rows, options.votes)) for own in by_identity.values()]
    in_turn = [entry for turn in itertools.zip_longest(*queues) for entry in turn if entry is not None]
    if not in_turn:
        raise UsageError(f"No row has {options.votes} votes for a stereotype; choose a smaller number with --votes.")
    random = create_generator("template items", str(len(rows)))
    words = [unrelated[index] for index in random.integers(len(unrelated), size=len(in_turn))]
    return [
        _Candidate(row, template, anti_stereotype, word, is_rejected)
        for (row, anti_stereotype, is_rejected), template, word in zip(
            in_turn[: options.limit], itertools.cycle(templates), words, strict=False
        )
    ]


def _pair_attributes(
    own: Sequence[StereotypeRow], rows: Sequence[StereotypeRow], votes: int
) -> Iterator[tuple[StereotypeRow, str, bool]]:
    """Yield each stereotype of an identity, an anti-stereotype, and whether raters rejected it for this identity.

    If raters rejected no attribute of this identity, an attribute of another identity is the anti-stereotype.
    """
    stereotypes = sorted((row for row in own if row.is_stereotype(votes)), key=lambda row: -(row.votes_for or 0))
    rejected = sorted((row for row in own if row.is_rejected(votes)), key=lambda row: -(row.votes_against or 0))
    mentioned = {row.attribute.casefold() for row in own}
    others = [row.attribute for row in rows if row.attribute.casefold() not in mentioned]
    chosen = [row.attribute for row in rejected] or others
    if not chosen or not stereotypes:
        return
    random = create_generator("template items", stereotypes[0].identity)
    start = 0 if rejected else int(random.integers(len(chosen)))
    for number, row in enumerate(stereotypes, start=start):
        yield row, chosen[number % len(chosen)], bool(rejected)


def _build_item(candidate: _Candidate, item_id: str, language: str, options: TemplateOptions) -> Item:
    read = get_form(FORM).from_json(candidate.to_json(item_id, language, options.bias_type))
    problems = list(read.problems)
    if read.values is not None and not problems:
        item, problems = build_item(read.values)
        if item is not None:
            return item
    raise UsageError(f"The table makes an invalid item: {problems[0].message} ({candidate.row.attribute!r}).")


def _build_entry(item: Item) -> ProjectItem:
    form, line = get_form(FORM), format_line(item)
    return ProjectItem(item.id, form.part_of(item) or "", str(getattr(item, form.subject)), line, line)


def _store_texts(project: Project, item: Item) -> None:
    for wanted in project.maker.list_texts_to_translate(item):
        project.store.set_text(
            item.id, "text", wanted.field, wanted.text, step="source", by=_TEMPLATE_WRITER, why="from a table"
        )


def _list_findings(candidate: _Candidate, item: Item) -> Iterator[RepairFinding]:
    """Yield the findings that a person must check in a candidate item."""
    fields: Mapping[str, str] = get_form(FORM).translatable(item)
    reason = "The sentence is from a template; edit it so that it is natural and grammatical."
    yield RepairFinding(item.id, "context", "from-template", "open", reason, fields["context"])
    field = f"candidates[{ROLES.index('anti-stereotype')}].word"
    origin = "that raters rejected for this group" if candidate.is_rejected else "of another group in the table"
    reason = f"The anti-stereotype is an attribute {origin}; replace it if it does not contradict the stereotype."
    yield RepairFinding(item.id, field, "anti-stereotype-from-table", "open", reason, fields[field])


def _build_plan(candidates: Iterable[_Candidate]) -> str:
    """Return a writing plan with the identities of the table as subjects, for people who add items of their own."""
    names = dict.fromkeys(candidate.row.target for candidate in candidates)
    subjects = [f"\n[[subjects]]\nname = {json.dumps(name, ensure_ascii=False)}" for name in names]
    return "\n".join(['# The writers, for example ["Ana", "Eva"].', "writers = []", "quota = 50", *subjects]) + "\n"
