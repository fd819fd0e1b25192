"""Articles from all sources, and the extraction of sentences from their markup."""

import bz2
import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.messages import raises_mentioning
from tests.training.made_articles import write_jsonl
from tiltmeter.errors import DataError, DownloadError, TiltmeterError, UsageError
from tiltmeter.training.article_sources import open_sources
from tiltmeter.training.articles import Article
from tiltmeter.training.articles_html import extract_html_blocks
from tiltmeter.training.articles_text import split_article
from tiltmeter.training.articles_wikipedia import extract_wikitext_blocks

PAGE = """<html><head><title>Not read</title><style>p {}</style></head><body>
<header><p>Help of the program</p></header><nav><ul><li>Contents</li></ul></nav>
<h1>A heading</h1>
<p>First <b>bold</b> and <code>inline</code> text.<br>Second
   line.</p>
<ul><li>Item one<ul><li>Nested item</li></ul> goes on</li><li><p>Item two</p></li></ul>
<pre>x = 1</pre><p class="sourcecode">y = 2</p><div class="Code"><p>z = 3</p></div>
<div>Text that is in no paragraph</div><blockquote>A quotation</blockquote>
<table><tr><td>cell</td><td><p>Paragraph of a cell</p></td></tr></table>
<p>Press <span><span hidden>Command</span><span hidden="true">Control</span></span> once.</p>
<p>Seen<span hidden> and not seen</span> <i>always</i>.</p><!-- comment -->
<script>document.write("<p>script</p>")</script><footer><p>Imprint</p></footer></body></html>"""


def test_html() -> None:
    assert extract_html_blocks(PAGE) == [
        "First bold and inline text. Second line.",
        "Item one",
        "Nested item",
        "goes on",
        "Item two",
        "A quotation",
        "Paragraph of a cell",
        "Press Control once.",
        "Seen always.",
    ]


def test_text_after_a_block_inside_a_paragraph_element_belongs_to_it() -> None:
    assert extract_html_blocks("<li>before<div>inside</div>after</li>") == ["before", "after"]


def test_html_without_text_and_with_deep_nesting() -> None:
    assert extract_html_blocks("") == []
    assert extract_html_blocks("<div>" * 5000 + "<p>deep") == ["deep"]


def only(text: str) -> list[Article]:
    (source,) = open_sources([text])
    return list(source.read_articles())


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "b.txt").write_text(
        "A wrapped\nsentence here. Another one.\n\n  \nA new paragraph", encoding="utf-8-sig"
    )
    (tmp_path / "deep/a.HTML").write_text("<p>Größe.</p><p>Maß.</p>", encoding="utf-8")
    (tmp_path / "picture.png").write_bytes(b"\0\1")
    found = only(f"de={tmp_path}")
    assert [(article.id, article.group, article.language) for article in found] == [
        ("b", "b", "de"),
        ("deep/a", "deep/a", "de"),
    ]
    assert list(split_article(found[0])) == ["A wrapped sentence here.", "Another one.", "A new paragraph"]
    assert list(split_article(found[1])) == ["Größe.", "Maß."]


def test_jsonl(tmp_path: Path) -> None:
    rows = [
        {"id": 7, "text": "One line. Two sentences.\nAnother line"},
        {"id": "b", "group": "g", "language": "en", "sentences": ["Given. As it is.", "Next."]},
    ]
    path = write_jsonl(tmp_path / "a.jsonl", rows)
    one, two = only(f"en={path}")
    assert (one.id, one.group, two.group) == ("7", "7", "g")
    assert list(split_article(one)) == ["One line.", "Two sentences.", "Another line"]
    assert list(split_article(two)) == ["Given. As it is.", "Next."]
    rows[0]["language"] = "pt-BR"
    assert [article.language for article in only(str(write_jsonl(path, rows)))] == ["pt-BR", "en"]


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ('{"id": "a"}', ["row 2", "`text`"]),
        ('{"id": "a", "text": null}', ["row 2", "`text`"]),
        ('{"text": "b"}', ["row 2", "`id`"]),
        ('{"id": " ", "text": "b"}', ["row 2", "`id`"]),
        ('{"id": "a", "text": "b", "language": "de"}', ["row 2", "in de", "in en"]),
        ('{"id": "a", "text": "b", "group": []}', ["row 2", "`group`"]),
        ('{"id": "a", "sentences": "b"}', ["row 2", "`sentences`"]),
        ('{"id": "a", "sentences": ["b", 1]}', ["row 2", "`sentences`"]),
        ('{"id": "a", "text": "b \\ud800"}', ["row 2", "surrogate"]),
        ("not json", ["row 2", "JSON object"]),
        ("[]", ["row 2", "JSON object"]),
        ('{"id": "a", "text": "caf\udce9"}', ["row 2", "UTF-8"]),
    ],
)
def test_bad_rows(tmp_path: Path, line: str, parts: list[str]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"id": "z", "text": "Good."}\n' + line.encode("utf-8", "surrogateescape") + b"\n")
    with raises_mentioning(DataError, *parts):
        only(f"en={path}")


def test_rows_without_a_language(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"id": "a", "text": "b"}])
    with raises_mentioning(DataError, "row 1", "language"):
        only(str(path))


@pytest.mark.parametrize(
    ("make", "text", "part"),
    [
        (lambda path: path.mkdir(), "en={}", ".txt"),
        (lambda path: None, "en={}", "does not exist"),
        (lambda path: path.write_bytes(b"\0\0"), "en={}", "not a source of articles"),
        (lambda path: path.mkdir(), "{}", "--articles en="),
        (lambda path: (path.mkdir(), (path / "a.txt").write_bytes(b"a\0b")), "en={}", "a.txt is not text"),
        (lambda path: (path.mkdir(), (path / "a.txt").write_bytes(b"\xff\xfea\0")), "en={}", "a.txt is not UTF-8"),
    ],
)
def test_bad_sources(tmp_path: Path, make: Callable[[Path], object], text: str, part: str) -> None:
    make(tmp_path / "articles")
    with raises_mentioning(TiltmeterError, str(tmp_path / "articles"), part):
        only(text.format(tmp_path / "articles"))


def test_no_source_and_one_given_twice(tmp_path: Path) -> None:
    with raises_mentioning(UsageError, "no articles", "--articles"):
        open_sources([])
    with raises_mentioning(UsageError, f"en={tmp_path}", "twice"):
        open_sources([f"en={tmp_path}"] * 2)


def test_an_empty_jsonl(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("\n\n")
    with raises_mentioning(DataError, "a.jsonl is empty"):
        only(f"en={tmp_path / 'a.jsonl'}")


WIKITEXT = """{{Infobox|name=Lake}}
'''Lake Example''' is a [[lake]] in the [[North|far north]].<ref>A book.</ref> It is&nbsp;deep.
[[Datei:Lake.jpg|mini|A photograph.]] [[Category:Lakes]]
== Fish ==
* Many [[fish]] live in it.
* [http://example.org A list] of them exists.
{| class="wikitable"
| cell || cell
|}
<gallery>
File:Fish.jpg|A fish
</gallery>
Its area is <math>x^2</math> large.<br>It has an island. __NOTOC__ [[:Category:Lakes|Other lakes]] are near.
<syntaxhighlight lang="py">print(1)</syntaxhighlight><!-- hidden -->"""


def test_wikitext() -> None:
    assert extract_wikitext_blocks(WIKITEXT, frozenset({"datei", "file", "category"})) == [
        "Lake Example is a lake in the far north. It is\xa0deep.",
        "Many fish live in it.",
        "A list of them exists.",
        "Its area is  large.",
        "It has an island.  Other lakes are near.",
    ]


DUMP = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="de">
<siteinfo><sitename>Wikipedia</sitename><namespaces>
<namespace key="0" /><namespace key="6">Datei</namespace><namespace key="14">Kategorie</namespace>
</namespaces></siteinfo>
<page><title>See</title><ns>0</ns><id>12</id><revision><id>99</id><text>Ein [[See]] ist tief.
[[Datei:See.jpg|mini|Ein Bild.]][[Kategorie:Seen]]</text></revision></page>
<page><title>Weiher</title><ns>0</ns><id>13</id><redirect title="See" /><revision><text>#WEITER</text></revision></page>
<page><title>Diskussion:See</title><ns>1</ns><id>14</id><revision><text>Eine Frage.</text></revision></page>
<page><title>Fluss</title><ns>0</ns><id>15</id><revision><text>Ein Fluss fließt. Er endet.</text></revision></page>
</mediawiki>"""


def test_a_dump(tmp_path: Path) -> None:
    packed = tmp_path / "dewiki-pages-articles.xml.bz2"
    # Several streams in one file, as in multistream dumps.
    middle = DUMP.index("<page><title>Weiher")
    packed.write_bytes(bz2.compress(DUMP[:middle].encode()) + bz2.compress(DUMP[middle:].encode()))
    zipped, plain = tmp_path / "a.xml.gz", tmp_path / "a.xml"
    zipped.write_bytes(gzip.compress(DUMP.encode()))
    plain.write_text(DUMP, encoding="utf-8")
    for path in (packed, zipped, plain):
        lake, river = only(f"de={path}")
        assert (lake.id, lake.group, river.id) == ("12", "de/12", "15")
        assert list(split_article(lake)) == ["Ein See ist tief."]
        assert list(split_article(river)) == ["Ein Fluss fließt.", "Er endet."]


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (bz2.compress(DUMP.encode())[:-40], "complete Wikipedia dump"),
        (bz2.compress(DUMP[:700].encode()), "complete Wikipedia dump"),
        (b"no bzip2 file", "complete Wikipedia dump"),
        (bz2.compress(b"<mediawiki></mediawiki>"), "has no articles"),
        (bz2.compress(b""), "complete Wikipedia dump"),
    ],
)
def test_bad_dumps(tmp_path: Path, content: bytes, part: str) -> None:
    path = tmp_path / "a.xml.bz2"
    path.write_bytes(content)
    with raises_mentioning(DataError, str(path), part):
        only(f"de={path}")


@pytest.fixture
def on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Return a function that writes a data set to a folder in the layout of the hub."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")

    def make(**columns: list[object]) -> Path:
        folder = tmp_path / "lakes"
        (folder / "2026.en").mkdir(parents=True)
        pq.write_table(pa.table(columns), folder / "2026.en/train-00000-of-00001.parquet")
        (folder / "README.md").write_text(
            "---\nconfigs:\n- config_name: 2026.en\n  data_files:\n  - split: train\n    path: 2026.en/*.parquet\n---\n"
        )
        return folder

    return make


def test_a_data_set_is_streamed(on_disk: Callable[..., Path]) -> None:
    folder = on_disk(id=["5", "6"], title=["A", "B"], text=["A lake is deep.\n\nIt has fish.", "A river flows."])
    for name in (f"hf:{folder}:2026.en", f"hf:{folder}:2026.en:train"):
        lake, river = only(f"en={name}")
        assert (lake.id, lake.group, river.id) == ("5", "en/5", "6")
        assert list(split_article(lake)) == ["A lake is deep.", "It has fish."]


def test_a_data_set_with_groups_and_without_ids(on_disk: Callable[..., Path]) -> None:
    folder = on_disk(group=["lake", "river"], text=["A lake is deep.", "A river flows."])
    assert [(article.id, article.group) for article in only(f"en=hf:{folder}:2026.en")] == [
        ("1", "lake"),
        ("2", "river"),
    ]


def test_bad_data_sets(on_disk: Callable[..., Path]) -> None:
    folder = on_disk(id=["5"], body=["A lake is deep."])
    with raises_mentioning(DataError, "row 1", "column `text`"):
        only(f"en=hf:{folder}:2026.en")
    with raises_mentioning(DownloadError, str(folder), "2025"):
        only(f"en=hf:{folder}:2025.en")
    with raises_mentioning(DownloadError, f"{folder}:2026.en:test"):
        only(f"en=hf:{folder}:2026.en:test")
    with raises_mentioning(UsageError, "hf:NAME:CONFIG:SPLIT"):
        only("en=hf:")


def test_a_row_is_found_by_its_number_after_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"id": "a", "text": "b"}) + '\n\n{"id": "b"}\n')
    with raises_mentioning(DataError, "row 3", "`text`"):
        only(f"en={path}")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
@pytest.mark.parametrize("name", ["a.jsonl", "en=a.jsonl", "en=a.xml", "en=a"])
def test_a_pipe_is_rejected_without_waiting(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo(name.removeprefix("en="))
    with raises_mentioning(DataError, name.removeprefix("en="), "neither a file"):
        open_sources([name])


def test_an_endless_row_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiltmeter.training.articles_files._LONGEST_ROW", 100)
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"id": "1", "language": "en", "text": "Short."}) + "\n" + "x" * 200, encoding="utf-8")
    (source,) = open_sources([str(path)])
    with raises_mentioning(DataError, "row 2 is too long"):
        list(source.read_articles())
