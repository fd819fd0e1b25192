"""The registry of upstream files: what `upstream.toml` pins."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from tiltmeter.datasets.hashing import Digests, digests

Algorithm = Literal["sha256", "git-blob", "commit"]


@dataclass(frozen=True, slots=True)
class Pin:
    """The hash a file must have; where none is known (`commit`), the repository's commit is all that pins it."""

    algorithm: Algorithm
    digest: str

    @property
    def is_hash(self) -> bool:
        """Whether a file can be told from another by this pin."""
        return self.algorithm != "commit"

    def of_file(self, path: Path) -> "Pin":
        """The hash the file at `path` has, by the same algorithm; each file is read once in a run."""
        return self.of_digests(digests(path)) if self.is_hash else self

    def of_digests(self, found: Digests) -> "Pin":
        """The one of a file's hashes that is by the same algorithm."""
        if not self.is_hash:
            return self
        return Pin(self.algorithm, found.sha256 if self.algorithm == "sha256" else found.git_blob)

    def __str__(self) -> str:
        return f"{self.algorithm}:{self.digest}" if self.is_hash else self.algorithm


@dataclass(frozen=True, slots=True)
class UpstreamFile:
    """One file of an upstream repository, at the pinned commit."""

    repository: str
    commit: str
    path: str
    pin: Pin

    @property
    def name(self) -> str:
        """`owner/repository/path`: how the file is spoken of, and where it lies below a mirror."""
        return f"{self.repository}/{self.path}"


@dataclass(frozen=True, slots=True)
class Repository:
    """An upstream repository: where it is pinned, on what terms it can be used, what to cite, what to expect."""

    name: str
    commit: str
    licence: str
    citation: str
    warning: str
    files: dict[str, UpstreamFile]


@cache
def repositories() -> dict[str, Repository]:
    """All pinned repositories, by `owner/name`."""
    text = files("tiltmeter.datasets").joinpath("upstream.toml").read_text(encoding="utf-8")
    return {entry["name"]: _repository(**entry) for entry in tomllib.loads(text)["repository"]}


def upstream_file(repository: str, path: str) -> UpstreamFile:
    """The pinned file at `path` of `repository`; a KeyError if the registry has no such file."""
    return repositories()[repository].files[path]


def _repository(name: str, commit: str, files: dict[str, str], **about: str) -> Repository:
    pinned = {path: UpstreamFile(name, commit, path, _pin(pin)) for path, pin in files.items()}
    return Repository(name=name, commit=commit, files=pinned, **about)


def _pin(text: str) -> Pin:
    algorithm, _, digest = text.partition(":")
    if algorithm == "sha256":
        return Pin("sha256", digest)
    if algorithm == "git-blob":
        return Pin("git-blob", digest)
    if text == "commit":
        return Pin("commit", "")
    raise ValueError(f"upstream.toml: unknown kind of hash {algorithm!r}")
