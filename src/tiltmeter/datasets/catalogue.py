"""The catalogue of data sets."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from tiltmeter.datasets.description import Dataset, Source
from tiltmeter.datasets.readers import Format
from tiltmeter.datasets.upstream import repositories, upstream_file
from tiltmeter.forms.association import PARTS
from tiltmeter.forms.gest import TEMPLATES
from tiltmeter.forms.winobias import PARTS as WINOBIAS_PARTS
from tiltmeter.registry import by_name

_STARTER = Path(__file__).parent / "starter"


def _upstream(
    repository: str,
    name: str,
    form: str,
    description: str,
    limits: tuple[str, ...],
    files: Iterable[tuple[str, str | None, Format, str]],
    parts: tuple[str, ...] = (),
    companion: Callable[[str], str] | None = None,
) -> Dataset:
    """A data set of pinned files; `companion` maps the path of a file to that of its second file, if it has one."""
    repo = repositories()[repository]
    sources = tuple(
        Source(
            language,
            part,
            format,
            upstream_file(repository, path),
            upstream_file(repository, companion(path)) if companion else None,
        )
        for language, part, format, path in files
    )
    return Dataset(name, form, description, repo.licence, repo.citation, repo.warning, limits, sources, parts)


def _starter(
    name: str, form: str, description: str, files: Iterable[tuple[str, str | None, str]], parts: tuple[str, ...] = ()
) -> Dataset:
    return Dataset(
        name=name,
        form=form,
        description=description,
        licence="Apache-2.0",
        citation="Tiltmeter",
        warning="The sentences play on mild stereotypes.",
        limits=("a smoke test, not a benchmark: too small, and written by too few, to say much about a model",),
        sources=tuple(Source(language, part, "jsonl", _STARTER / file) for language, part, file in files),
        parts=parts,
    )


_AMERICAN = "the stereotypes are American, in the translations too"
_FAULTY = "many items are faulty as tests of a stereotype (Blodgett et al. 2021, Stereotyping Norwegian Salmon)"

_BUILTIN: tuple[Dataset, ...] = (
    _starter(
        "starter",
        "association",
        "Tiltmeter's own association items, to try things out with",
        ((language, part, f"{part}.{language}.jsonl") for language in ("en", "de", "fr", "es", "tr") for part in PARTS),
        PARTS,
    ),
    _starter(
        "starter-pairs",
        "pairs",
        "Tiltmeter's own sentence pairs, to try things out with",
        [("en", None, "pairs.en.jsonl"), ("de", None, "pairs.de.jsonl")],
    ),
    _starter(
        "starter-gest",
        "gest",
        "Tiltmeter's own first-person sentences, to try things out with",
        [("en", None, "gest.en.jsonl")],
        TEMPLATES,
    ),
    _upstream(
        "slds-lmu/stereotypes-multi",
        "stereoset",
        "association",
        "StereoSet in five languages, machine-translated from English and in part corrected by hand",
        (
            _FAULTY,
            _AMERICAN,
            "the translations were made without context: the target is missing from hundreds of contexts",
            "the German intrasentence part has 2,103 of the 2,106 items",
        ),
        (
            (language, part, "stereoset-pickle", f"create_dataset/data/{part}/df_{part}_{language}.pkl")
            for language in ("en", "de", "fr", "es", "tr")
            for part in PARTS
        ),
        PARTS,
    ),
    _upstream(
        "moinnadeem/StereoSet",
        "stereoset-original",
        "association",
        "StereoSet's development set as first published",
        (_FAULTY, _AMERICAN, "the test set was never published"),
        [("en", None, "stereoset-json", "data/dev.json")],
        PARTS,
    ),
    _upstream(
        "VSteinborn/s_jsd-multilingual-bias",
        "gender-pairs",
        "pairs",
        "212 gender pairs of CrowS-Pairs, edited and translated by people into nine languages",
        (_AMERICAN, "212 pairs tell only large differences apart"),
        (
            (language, None, "pairs-csv", f"data/cps_translated_{language}_formatted.csv")
            for language in ("en", "de", "fi", "fr", "id", "th", "ko", "vi", "zh", "ar")
        ),
    ),
    _upstream(
        "nyu-mll/crows-pairs",
        "crows-pairs",
        "pairs",
        "CrowS-Pairs: 1,508 pairs about nine kinds of bias",
        (
            _FAULTY,
            "its own page warns that it is so noisy that it may not indicate well whether a model is biased",
            "its authors ask that it not be used to call a model free of bias",
            _AMERICAN,
        ),
        [("en", None, "crows-csv", "data/crows_pairs_anonymized.csv")],
    ),
    _upstream(
        "kinit-sk/gest",
        "gest",
        "gest",
        "GEST, edition 1.1: 3,565 sentences for sixteen gender stereotypes, 244 of them corrected since 1.0",
        ("gender is taken as binary", "the published results are for edition 1.0"),
        [("en", None, "gest-csv", "data/gest_1.1.csv")],
        TEMPLATES,
    ),
    _upstream(
        "kinit-sk/gest",
        "gest-1.0",
        "gest",
        "GEST, edition 1.0: what the published results were made with",
        ("gender is taken as binary", "some sentences have slips that edition 1.1 corrects"),
        [("en", None, "gest-csv", "data/gest.csv")],
        TEMPLATES,
    ),
    _upstream(
        "kinit-sk/gest",
        "gest-pairs",
        "gendered-pairs",
        "GEST's sentences in nine Slavic languages, each as a man and as a woman would say it",
        (
            "gender is taken as binary",
            "machine translations, paired by rule: some pairs differ in more than gender",
            "which pairs are asked depends on the model's tokenizer, so models are not asked the same ones",
        ),
        (
            (language, None, "gest-pairs-csv", "data/gender_variants.csv")
            for language in ("be", "cs", "hr", "pl", "ru", "sk", "sl", "sr", "uk")
        ),
    ),
    _upstream(
        "uclanlp/corefBias",
        "winobias",
        "winobias",
        "WinoBias: sentences about two occupations, with a pronoun for one of them",
        (
            "gender is taken as binary",
            "what counts as stereotypical comes from American labour statistics",
            "in 20 of the 1,584 lines the two halves differ in more than their pronouns; they are not asked",
        ),
        (
            ("en", part, "winobias", f"WinoBias/wino/data/pro_stereotyped_{part.replace('-', '.txt.')}")
            for part in WINOBIAS_PARTS
        ),
        WINOBIAS_PARTS,
        companion=lambda path: path.replace("pro_", "anti_"),
    ),
)


class Catalogue(Mapping[str, Dataset]):
    """Data sets by name: built-in ones, and those of entry points in the group `tiltmeter.datasets`.

    Plug-ins import from this package, so they are loaded on first access.
    """

    @cached_property
    def _datasets(self) -> dict[str, Dataset]:
        return by_name(list(_BUILTIN), "datasets", Dataset, lambda data: str(data.name))

    def __getitem__(self, name: str) -> Dataset:
        return self._datasets[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._datasets)

    def __len__(self) -> int:
        return len(self._datasets)


DATASETS = Catalogue()
