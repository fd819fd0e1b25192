"""The texts of the pages for reviewing, writing and rating: complete in English, and translatable without code."""

import html
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import tiltmeter.making
import tiltmeter.studio
from tests.studio.client import studio_on
from tests.studio.reviewing import P, decide, following, people, small_project
from tests.support.messages import assert_mentions, raises_mentioning
from tiltmeter.datasets.validation_findings import list_error_codes, list_warning_codes
from tiltmeter.errors import DataError
from tiltmeter.making.project_settings import read_settings, write_settings
from tiltmeter.making.quality.second_opinions import BACK_TRANSLATION, SECOND_OPINION
from tiltmeter.making.repair.rule_precision import load_precision
from tiltmeter.making.translation_results import MISSING, NOT_RESTORED, RESTORED
from tiltmeter.studio.interface_texts import find_text_problems, list_values, load_texts, read_texts

STUDIO = Path(tiltmeter.studio.__file__).parent
MAKING = Path(tiltmeter.making.__file__).parent
TEMPLATES = [STUDIO / "templates" / "base.html.jinja", *sorted((STUDIO / "templates").glob("review*.jinja"))]
ENGLISH = read_texts((STUDIO / "texts" / "en.toml").read_text(encoding="utf-8"), "en.toml")
# Attributes whose values are shown or read out.
_SHOWN = ("title", "aria-label", "alt", "placeholder", "content", "aria-description")
# Values that are not in any language: names of keys, codes and examples of input.
_NEUTRAL = {"kbd", "code"}
# The title of a window ends in the name of the program.
_UNTRANSLATED = {"· Tiltmeter"}


class _Texts(HTMLParser):
    """Collects the texts of a template that are not in the catalogue."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open.append(tag)
        examples = {"target-not-in-context", "CC-BY-SA-4.0"}
        if dict(attrs).get("name") not in ("viewport", "color-scheme", "htmx-config"):
            self.found += [str(value) for name, value in attrs if name in _SHOWN and value not in examples]

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not _NEUTRAL & set(self._open):
            self.found.append(data)


def list_plain_texts(template: str) -> list[str]:
    """Return the texts of a template that are not expressions of Jinja and contain a letter."""
    plain = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", "", template, flags=re.DOTALL)
    parser = _Texts()
    parser.feed(plain)
    parser.close()
    return [text.strip() for text in parser.found if re.search(r"[^\W\d_]", text)]


def test_texts_outside_of_the_catalogue_are_found() -> None:
    template = '{# note #}<p title="A hint">{{ t("a.b") }} and more <kbd>e</kbd></p>{% if x %}<b>{{ n }}</b>{% endif %}'
    assert list_plain_texts(template) == ["A hint", "and more"]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_templates_have_no_texts_outside_of_the_catalogue(path: Path) -> None:
    assert [text for text in list_plain_texts(path.read_text(encoding="utf-8")) if text not in _UNTRANSLATED] == []


def list_used_keys() -> Iterator[str]:
    pages = [*TEMPLATES, *(STUDIO / "pages").glob("*.py")]
    for path in pages:
        text = path.read_text(encoding="utf-8")
        yield from re.findall(r"""["']([a-z]+\.[a-z_]+)["']""", text)


# Keys that are built from data, such as the state of an item.
_BUILT = re.compile(r"(verdicts|states|names|findings|languages|pages|agreement\.(alpha|kappa)|scripts|project)\b.*")


def test_every_text_is_used_and_every_used_text_exists() -> None:
    used = {key for key in list_used_keys() if key.split(".")[0] in {name.split(".")[0] for name in ENGLISH}}
    # A key that ends in an underscore is the beginning of keys that are built from values.
    beginnings = tuple(key for key in used if key.endswith("_"))
    assert used - ENGLISH.keys() == set(beginnings)
    unused = {key for key in ENGLISH if key not in used and not _BUILT.match(key)}
    assert {key for key in unused if not key.startswith(beginnings)} == set()


def list_rules() -> Iterator[str]:
    """Return the names of findings in the code of the package, and the codes of validation findings."""
    yield from (*list_error_codes(), *list_warning_codes(), RESTORED, NOT_RESTORED, MISSING)
    yield from (SECOND_OPINION, BACK_TRANSLATION, *load_precision("fr"))
    for path in MAKING.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        yield from re.findall(r'^(?:\w*RULE|PROPOSED|UNTRANSLATED) = "([a-z-]+)"$', text, re.MULTILINE)
        yield from re.findall(r'RepairFinding\([^"()]*(?:\([^()]*\))?[^"()]*"([a-z]+(?:-[a-z]+)+)", "', text)
        yield from re.findall(r'yield [\w"]+, "([a-z]+(?:-[a-z]+)+)", f?"', text)


def test_findings_can_be_translated() -> None:
    names = {key.removeprefix("findings.") for key in ENGLISH if key.startswith("findings.")}
    assert set(list_rules()) - {"names"} - names == set()


def test_a_value_in_braces_is_a_name() -> None:
    assert find_text_problems(ENGLISH) == {}
    with raises_mentioning(ValueError, "done.__class__"):
        list(list_values("{done.__class__}"))


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return small_project(tmp_path, monkeypatch)


def add_language(folder: Path, content: str, code: str = "gl") -> None:
    (folder / "texts").mkdir(exist_ok=True)
    (folder / "texts" / f"{code}.toml").write_text(content, encoding="utf-8")
    write_settings(folder, replace(read_settings(folder), interface=code))


def mark_texts() -> str:
    """Return a file of texts in which each text is the English one between marks, as a translation would change it."""
    groups: dict[str, dict[str, str]] = {}
    for key, text in ENGLISH.items():
        group, _, name = key.partition(".")
        groups.setdefault(group, {})[name] = text if group == "scripts" else f"⟦{text}⟧"
    lines: list[str] = []
    for group, texts in groups.items():
        lines += [f"[{group}]", *(f"{json.dumps(name)} = {json.dumps(text)}" for name, text in texts.items())]
    return "\n".join(lines)


def list_unmarked_texts(page: str) -> list[str]:
    """Return the texts of a page that are outside of the marks, without data, which have a direction of their own."""
    page = re.sub(r"(?s)<head>.*?</head>|<(kbd|bdi|option|textarea)\b[^>]*>.*?</\1>", "", page)
    page = re.sub(r'(?s)<(\w+)[^>]*dir="auto"[^>]*>.*?</\1>', "", page)
    # An attribute that is shown counts as a text.
    page = re.sub(r'<[^>]*?\b(?:title|aria-label|placeholder)="([^"]*)"[^>]*>', r"\n\1\n", page)
    plain = html.unescape(re.sub(r"<[^>]*>", "", page))
    while (shorter := re.sub(r"⟦[^⟦⟧]*⟧", "", plain)) != plain:
        plain = shorter
    # The form for an edition has an example of a licence.
    found = [text.strip() for text in plain.split("\n") if re.search(r"[^\W\d_]{2}", text)]
    return [text for text in found if text != "CC-BY-SA-4.0"]


def test_a_translation_changes_all_texts_of_the_rooms(workspace: Path) -> None:
    add_language(workspace / "project", mark_texts(), "gl-y")
    with people(studio_on(workspace), "Ana") as (ana,):
        shown = following(ana)
        rooms = ("project", "items", "groups", "agreement", "conflicts", "questions", "publish")
        pages = {room: ana.get(f"/review/{room}?{P}").text for room in rooms}
        pages |= {"next": shown, "item": ana.get(f"/review/item?{P}").text, "decided": decide(ana, shown).text}
    assert all("⟦" in page for page in pages.values())
    assert {name: found for name, page in pages.items() if (found := list_unmarked_texts(page))} == {}


def test_a_project_adds_a_language(workspace: Path) -> None:
    content = '[item]\nkeep = "Manter"\nstored = "Gardado: {verdict}. {title}"\nedit = "<b>Editar</b>"\n'
    add_language(workspace / "project", content + '[names]\ncontext = "contexto"\n[findings]\nblank-restored = "oco"\n')
    with people(studio_on(workspace), "Ana") as (ana,):
        page = following(ana)
        assert "Manter <kbd>Enter</kbd>" in page
        assert "<h3>contexto</h3>" in page
        assert "<code>oco</code>" in page
        assert_mentions(ana.get(f"/review/items?{P}").text, "<code>oco</code>", ">oco (3)<")
        # A text is never markup; a missing one is English.
        assert "&lt;b&gt;Editar" in page
        assert "Drop <kbd>d</kbd>" in page
        assert "Gardado: accepted. <bdi>“el cocinero" in decide(ana, page).text
        assert '<main id="content" lang="gl">' in ana.get(f"/review/item?{P}").text
        # A changed file is read again.
        add_language(workspace / "project", '[item]\nkeep = "Conservar"\n')
        assert "Conservar" in following(ana)


def test_texts_that_cannot_be_shown_are_english(workspace: Path, caplog: pytest.LogCaptureFixture) -> None:
    bad = '[item]\nkeep = "Keep {title.__class__}"\ndrop = "{"\nask = "{mind}"\nno_such = "x"\n'
    bad += 'progress = "{done} feitos"\n'
    add_language(workspace / "project", bad)
    with people(studio_on(workspace), "Ana") as (ana,):
        page = following(ana)
        for text in ("Keep <kbd>", "Drop <kbd>", "Ask <kbd>", "0 feitos"):
            assert text in page
        assert "item.no_such" in caplog.text
        # A broken file, or a language without texts, does not close the room.
        add_language(workspace / "project", "not TOML")
        assert "Keep <kbd>" in following(ana)
        write_settings(workspace / "project", replace(read_settings(workspace / "project"), interface="../x"))
        assert "Keep <kbd>" in following(ana)


def test_a_package_adds_a_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "galician_texts"
    (folder / "texts").mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "texts" / "gl-x.toml").write_text('[item]\nkeep = "Manter"\n', encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    entry = EntryPoint("galician", "galician_texts", "tiltmeter.studio_texts")
    entries = {"tiltmeter.studio_texts": (entry,)}
    monkeypatch.setattr("tiltmeter.registry._read_entry_points", lambda group, _path: entries.get(group, ()))
    monkeypatch.setattr("tiltmeter.registry._get_package", lambda _entry: "galician")
    texts = load_texts("gl-x")
    assert (texts("item.keep"), texts("item.drop")) == ("Manter", "Drop")


def test_a_table_of_texts_has_only_texts() -> None:
    with raises_mentioning(DataError, "x.toml", "[item]"):
        read_texts("[item]\nkeep = 3\n", "x.toml")
