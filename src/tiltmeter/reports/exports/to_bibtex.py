"""Export of a BibTeX file with everything that a run used: the data sets, the papers of the measures, and Tiltmeter."""

import re
import unicodedata
from collections.abc import Iterator

import tiltmeter
from tiltmeter.datasets.catalogue import DATASETS
from tiltmeter.datasets.citations import Publication, parse_citation
from tiltmeter.datasets.upstream_files import load_repositories
from tiltmeter.reports.exports.export_options import ExportOptions
from tiltmeter.reports.exports.exported_model import SOURCE
from tiltmeter.reports.formatting import escape_latex
from tiltmeter.runs.result import Result

# The repositories whose papers define measures, and the names of these measures.
MEASURES = {
    "moinnadeem/StereoSet": ("LMS", "SS", "ICAT"),
    "nyu-mll/crows-pairs": ("CPS",),
    "VSteinborn/s_jsd-multilingual-bias": ("S_JSD x 1e3", "B.S_JSD"),
    "kinit-sk/gest": ("g_s", "f_s"),
    "nyu-mll/BBQ": ("s_DIS", "s_AMB"),
    "Veranep/MBBQ": ("bias_A", "bias_D"),
    "naver-ai/KoBBQ": ("diff-bias_a", "diff-bias_d"),
    "gabrielStanovsky/mt_gender": ("WinoMT acc",),
    "amazon-science/machine-translation-gender-eval": ("acc gap",),
}
_JOURNALS = ("TACL",)
# Words that say nothing about a title.
_STOPWORDS = {"a", "an", "the", "on", "in", "how", "is"}


def export(result: Result, options: ExportOptions) -> str:  # noqa: ARG001  # the entries do not depend on the model
    """Return the BibTeX entries; data sets without a citation in the catalogue, such as own files, are left out."""
    entries = [_format_tiltmeter(result)]
    keys: set[str] = set()
    for publication in dict.fromkeys(_list_publications(result)):
        key = _build_key(publication)
        while key in keys:
            key += "x"
        keys.add(key)
        entries.append(_format_publication(key, publication))
    return "\n".join(entries)


def _list_publications(result: Result) -> Iterator[Publication]:
    measured = [record.benchmark for record in result.records]
    sources = [name for entry in result.manifest.data for name in (entry.benchmark, entry.source or "")]
    for name in dict.fromkeys([*measured, *sources]):
        if name in DATASETS:
            yield from parse_citation(DATASETS[name].citation)
    used = {record.measure for record in result.records}
    for repository, measures in MEASURES.items():
        if used.intersection(measures):
            yield from parse_citation(load_repositories()[repository].citation)


def _build_key(publication: Publication) -> str:
    """Return a key of the last name of the first author, the year and the first word of the title.

    >>> _build_key(Publication(("Karën Fört",), "The 2nd Test", 2022))
    'fort2022nd'
    """
    words = re.findall(r"[a-z]+", _remove_accents(publication.title))
    word = next((word for word in words if word not in _STOPWORDS), "")
    name = re.sub(r"[^a-z]", "", _remove_accents(publication.authors[0].split()[-1]))
    return f"{name}{publication.year}{word}"


def _remove_accents(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(c))


def _format_publication(key: str, publication: Publication) -> str:
    fields = {
        # Braces keep a name without a first name, and the capitals of a title, as they are.
        "author": " and ".join(publication.authors),
        "title": f"{{{escape_latex(publication.title)}}}",
        "year": str(publication.year),
    }
    if publication.venue in _JOURNALS:
        return _format_entry("article", key, fields | {"journal": escape_latex(publication.venue)})
    if publication.venue:
        venue = publication.venue if publication.venue.startswith("Findings") else f"Proceedings of {publication.venue}"
        return _format_entry("inproceedings", key, fields | {"booktitle": escape_latex(venue)})
    eprint = {"eprint": publication.arxiv, "archiveprefix": "arXiv"} if publication.arxiv else {}
    return _format_entry("misc", key, fields | eprint)


def _format_tiltmeter(result: Result) -> str:
    version = result.manifest.versions.get("tiltmeter", tiltmeter.__version__)
    fields = {"author": "{The Tiltmeter authors}", "title": "{Tiltmeter}", "version": version, "url": SOURCE}
    if result.manifest.finished:
        fields["year"] = result.manifest.finished[:4]
    return _format_entry("software", "tiltmeter", fields | {"note": f"Version {version}"})


def _format_entry(kind: str, key: str, fields: dict[str, str]) -> str:
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
    return "\n".join([f"@{kind}{{{key},", *lines, "}", ""])
