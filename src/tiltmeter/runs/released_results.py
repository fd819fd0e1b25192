"""Results that publications released with their outputs: predictions of language models, and translations.

The outputs are files of upstream repositories. The list of results is derived from the names of the pinned files; the
files are downloaded on request and scored like a user's own files of predictions or translations.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tiltmeter.datasets.upstream_files import Repository, UpstreamFile, load_repositories
from tiltmeter.errors import DataError
from tiltmeter.runs.scoring_methods import infer_model_name

if TYPE_CHECKING:
    from tiltmeter.runs.result import Result

_STEREOSET, _GEST, _GEST_PAIRS, _TRANSLATIONS = "stereotypes-multi", "gest", "gest-pairs", "translations"


@dataclass(frozen=True, slots=True)
class ReleasedResult:
    """The released outputs of one model on one data set in one language.

    `form` is the format of the files, `benchmark` the name of the data set.
    """

    name: str
    model: str
    benchmark: str
    language: str
    form: str
    files: tuple[UpstreamFile, ...]

    def fetch_and_score(self) -> "Result":
        """Download the files if necessary, and return their result.

        Raise a DownloadError if a file is not available, and a DataError if the files cannot be scored.
        """
        # Imported here, because listing the results does not need the code that scores them.
        from tiltmeter.datasets.file_fetcher import fetch_file
        from tiltmeter.runs.prediction_run import score_predictions
        from tiltmeter.runs.translation_run import score_translations

        paths = [fetch_file(file) for file in self.files]
        on = f"{self.benchmark}:{self.language}"
        if self.form == _TRANSLATIONS:
            return score_translations(paths[0], system=self.model, on=on, edition="1.0")
        path = _find_common_path(paths) if self.form == _GEST else paths[0]
        return score_predictions(path, form=self.form, on=on, model=self.model)


@dataclass(frozen=True, slots=True)
class PublishedSet:
    """A set of results that one publication released."""

    name: str
    description: str
    repository: Repository
    results: tuple[ReleasedResult, ...]

    @property
    def portions(self) -> frozenset[tuple[str, str]]:
        """The pairs (data set, language) of the results."""
        return frozenset((result.benchmark, result.language) for result in self.results)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Definition:
    """How the results of a published set are listed from the names of the files in a repository.

    `pattern` matches the path of a file; its group `name` names the result, its group `language` the language. If
    `languages` is given, each file has results in all of them. `get_model` returns the name of the model from the name
    of the result.
    """

    name: str
    description: str
    repository: str
    pattern: str
    form: str
    benchmark: str
    languages: tuple[str, ...] = ()
    get_model: Callable[[str], str]

    def list_results(self, files: Iterable[UpstreamFile]) -> tuple[ReleasedResult, ...]:
        groups: dict[tuple[str, str], list[UpstreamFile]] = {}
        for file in files:
            if found := re.fullmatch(self.pattern, file.path):
                for language in self.languages or (found["language"],):
                    groups.setdefault((found["name"], language), []).append(file)
        return tuple(
            ReleasedResult(
                name if len(self.languages) == 1 else f"{name}_{language}",
                self.get_model(name),
                self.benchmark,
                language,
                self.form,
                tuple(paths),
            )
            for (name, language), paths in groups.items()
        )


def _infer_hub_name(name: str) -> str:
    """Return the hub id of a model from a name in which the first underscore replaces the slash.

    >>> _infer_hub_name("flaubert_flaubert_base_cased_BertLM_BertNextSentence"), _infer_hub_name("gpt2__GPT2LM_e")
    ('flaubert/flaubert_base_cased', 'gpt2')
    """
    return infer_model_name(name).replace("_", "/", 1)


_DEFINITIONS = (
    _Definition(
        name="stereoset-languages",
        description="StereoSet in English, German, French, Spanish and Turkish (Öztürk et al. 2023)",
        repository="slds-lmu/stereotypes-multi",
        pattern=r"results/predictions/(?P<name>.+)_(?P<language>[a-z]{2})\.json",
        form=_STEREOSET,
        benchmark="stereoset",
        get_model=_infer_hub_name,
    ),
    _Definition(
        # The ids of the candidates are those of `stereoset:en`. Both publications released scores of BERT and GPT-2;
        # they are equal up to rounding on all intrasentence candidates, except three.
        name="stereoset-original",
        description="StereoSet in English (Nadeem et al. 2021)",
        repository="moinnadeem/StereoSet",
        pattern=r"code/predictions/predictions_(?P<name>.+)\.json",
        form=_STEREOSET,
        benchmark="stereoset",
        languages=("en",),
        get_model=lambda name: infer_model_name(name).strip("_"),
    ),
    _Definition(
        name="stereoset-ptbr",
        description="StereoSet in Brazilian Portuguese (2026)",
        repository="firminovitoria/stereoset-ptbr",
        pattern=r"predictions/predictions_(?P<name>.+)\.json",
        form=_STEREOSET,
        benchmark="stereoset-ptbr",
        languages=("pt-BR",),
        get_model=str,
    ),
    _Definition(
        name="gest-english",
        description="GEST in English, language models (Pikuliak et al. 2024)",
        repository="kinit-sk/gest",
        pattern=r"data/predictions/english_[mg]lm/(?P<name>.+)_template-\d\.txt",
        form=_GEST,
        benchmark="gest-1.0",
        languages=("en",),
        get_model=str,
    ),
    _Definition(
        name="gest-slavic",
        description="GEST's pairs in nine Slavic languages, masked models (Pikuliak et al. 2024)",
        repository="kinit-sk/gest",
        pattern=r"data/predictions/slavic_mlm/(?P<name>.+)\.txt",
        form=_GEST_PAIRS,
        benchmark="gest-pairs",
        languages=("be", "cs", "hr", "pl", "ru", "sk", "sl", "sr", "uk"),
        get_model=lambda name: f"facebook/{name}" if name in ("xlm-v-base", "xlm-roberta-xl") else name,
    ),
    _Definition(
        name="gest-translations",
        description="GEST, translation systems, from English to Slavic languages (Pikuliak et al. 2024)",
        repository="kinit-sk/gest",
        pattern=r"data/translations/(?P<name>[^/]+)/(?P<language>[a-z]{2})/translations\.csv",
        form=_TRANSLATIONS,
        benchmark="gest-mt",
        get_model=str,
    ),
)


@cache
def load_published_sets() -> dict[str, PublishedSet]:
    """Return the published sets as a mapping from names."""
    repositories = load_repositories()
    return {
        entry.name: PublishedSet(
            entry.name,
            entry.description,
            repositories[entry.repository],
            entry.list_results(repositories[entry.repository].files.values()),
        )
        for entry in _DEFINITIONS
    }


def _find_common_path(paths: list[Path]) -> Path:
    """Return `FOLDER/NAME`, the common part of the paths of all templates of a model."""
    if len({path.parent for path in paths}) > 1:
        raise DataError(f"{paths[0]} and {paths[-1]} belong together; copy them into the same folder of the mirror.")
    return paths[0].with_name(re.sub(r"_template-\d+\.txt$", "", paths[0].name))
