"""What the entries share: how a data set is made of pinned files, and limits that several of them have."""

from collections.abc import Callable, Iterable, Mapping

from tiltmeter.datasets.dataset_definition import Dataset, Source
from tiltmeter.datasets.upstream_files import get_upstream_file, load_repositories

AMERICAN = "the stereotypes are American, in the translations too"
FAULTY = "many items are faulty as tests of a stereotype (Blodgett et al. 2021, Stereotyping Norwegian Salmon)"
BINARY = "gender is taken as binary"


def build_upstream_dataset(
    repository: str,
    name: str,
    form: str,
    description: str,
    limits: tuple[str, ...],
    files: Iterable[tuple[str, str | None, str, str]],
    parts: tuple[str, ...] = (),
    companion: Callable[[str], str | tuple[str, ...] | None] | None = None,
    items: Mapping[str, int] | None = None,
    control: tuple[str, ...] = (),
    why_control: str = "",
) -> Dataset:
    """A data set of pinned files.

    `companion` maps the path of a file to that of another file, or to those of several, that its reader needs; `items`
    has the number of items in each language. `control` and `why_control`: see `Dataset`.
    """
    repo = load_repositories()[repository]
    sources = tuple(
        Source(
            language,
            part,
            format,
            get_upstream_file(repository, path),
            tuple(get_upstream_file(repository, other) for other in _list_companions(companion, path)),
        )
        for language, part, format, path in files
    )
    facts = repo.licence, repo.citation, repo.warning
    return Dataset(name, form, description, *facts, limits, sources, parts, items or {}, control, why_control)


def _list_companions(companion: Callable[[str], str | tuple[str, ...] | None] | None, path: str) -> tuple[str, ...]:
    others = companion(path) if companion else None
    return (others,) if isinstance(others, str) else others or ()
