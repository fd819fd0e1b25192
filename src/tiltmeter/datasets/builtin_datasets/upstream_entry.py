"""Build data sets from pinned files; also the texts of limitations that several data sets share."""

from collections.abc import Callable, Iterable, Mapping

from tiltmeter.datasets.dataset_definition import Dataset, Source
from tiltmeter.datasets.upstream_files import get_upstream_file, load_repositories

AMERICAN = "the stereotypes are American, also in the translations"
FAULTY = "many items are faulty as tests of a stereotype (Blodgett et al. 2021, Stereotyping Norwegian Salmon)"
BINARY = "gender is treated as binary"


def build_upstream_dataset(
    repository: str,
    name: str,
    form: str,
    description: str,
    limits: tuple[str, ...],
    files: Iterable[tuple[str, str | None, str, str]],
    parts: tuple[str, ...] = (),
    companions: Callable[[str], tuple[str, ...]] = lambda _path: (),
    items: Mapping[str, int] | None = None,
    control: tuple[str, ...] = (),
    why_control: str = "",
) -> Dataset:
    """Build a data set from the pinned files of a repository.

    `files` contains (language, part, format, path in the repository). `companions` is a function from the path of a
    file to the paths of other files that the reader of this file needs. For the other parameters, see `Dataset`.
    """
    repo = load_repositories()[repository]
    sources = tuple(
        Source(
            language,
            part,
            format,
            get_upstream_file(repository, path),
            tuple(get_upstream_file(repository, other) for other in companions(path)),
        )
        for language, part, format, path in files
    )
    facts = repo.licence, repo.citation, repo.warning
    return Dataset(name, form, description, *facts, limits, sources, parts, items or {}, control, why_control)
