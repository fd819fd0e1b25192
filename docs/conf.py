"""The settings of the site that `make docs` builds.

The source folder is the root of the repository, so that the links between files are also the links between pages.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

import tiltmeter

project = "Tiltmeter"
copyright = "the authors of Tiltmeter, Apache-2.0"
version = release = tiltmeter.__version__

extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = ["docs/*.md", "docs/*/*.md", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "perf/README.md"]
exclude_patterns = [".*", "build", "dist", "examples", "runs", "site", "src", "tests"]
templates_path = ["_templates"]
# The address of the site's root leads to its first page.
html_additional_pages = {"index": "to_first_page.html"}

html_theme = "furo"
html_title = "Tiltmeter"
html_copy_source = html_show_sourcelink = html_show_sphinx = False

myst_heading_anchors = 4
# Indented blocks are commands, output and drawings.
highlight_language = "none"

_PAGE = re.compile(r"^- \[(.+?)\]\((.+?)\.md\)", re.MULTILINE)


def _add_contents(_app: object, name: str, source: list[str]) -> None:
    """Add the tables of contents of the side bar to the first page, from the lists of links on it."""
    if name == root_doc:
        for section in source[0].split("\n## ")[1:]:
            caption, _, text = section.partition("\n")
            pages = "\n".join(f"{title} <{page}>" for title, page in _PAGE.findall(text))
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{pages}\n```\n"


def _write_texts_for_models(app: object, error: Exception | None) -> None:
    """Write `llms.txt`, a list of the pages, and `llms-full.txt`, the text of all pages (https://llmstxt.org)."""
    if error is not None or app.builder.format != "html":
        return
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    paths = [(ROOT / "docs" / f"{page}.md").resolve() for _, page in _PAGE.findall(index)]
    addresses = iter(path.relative_to(ROOT).with_suffix(".html").as_posix() for path in paths)
    title, _, rest = index.partition("\n\n")
    summary, _, sections = rest.partition("\n\n")
    listed = _PAGE.sub(lambda match: f"- [{match[1]}]({next(addresses)})", sections)
    site = Path(app.outdir)
    (site / "llms.txt").write_text(f"{title}\n\n> {' '.join(summary.split())}\n\n{listed}", encoding="utf-8")
    texts = [f"<!-- {path.relative_to(ROOT).as_posix()} -->\n\n{path.read_text(encoding='utf-8')}" for path in paths]
    (site / "llms-full.txt").write_text("\n".join(texts), encoding="utf-8")


def setup(app) -> None:
    """Register the functions above with Sphinx."""
    app.connect("source-read", _add_contents)
    app.connect("build-finished", _write_texts_for_models)
