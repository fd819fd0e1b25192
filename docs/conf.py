"""How the docs become a site, with `make docs`.

The source is the root of the repository, so that links between files are the links between pages.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

import tiltmeter

project = "Tiltmeter"
copyright = "the authors of Tiltmeter, Apache-2.0"
version = release = tiltmeter.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "docs/index"
include_patterns = ["docs/*.md", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "perf/README.md"]
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

default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"
