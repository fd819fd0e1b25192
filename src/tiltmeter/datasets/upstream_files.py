"""Upstream files: files of public repositories, pinned to a commit and verified by a hash.

The user downloads these files; they are never part of the package.

`repositories/` has a TOML file for each repository. Its table `files` maps a path to a hash and, if known, the size in
bytes. The hash is the SHA-256 of the content (sha256) or the git blob id (git-blob). "commit" means that no hash is
known; the hash of the first download is recorded and verified later (see `recorded_hashes`). `licence_stated = false`
marks a repository without a licence (see `licence_consent`). `service = "hub"` marks a data set on the Hugging Face
Hub, where the commit is a revision; `gated = true` marks one that only users who accepted its conditions can download.
Files are downloaded as they are, and no code of a repository is executed.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from tiltmeter.datasets.file_hashes import FileHashes, get_hashes

Algorithm = Literal["sha256", "git-blob", "commit"]
Service = Literal["github", "hub"]
# The folder of the files of the hub in the cache and in mirrors.
_HUB_FOLDER = "hub"


@dataclass(frozen=True, slots=True)
class Pin:
    """The expected hash of a file; with the algorithm `commit`, no hash is known."""

    algorithm: Algorithm
    digest: str

    @property
    def is_hash(self) -> bool:
        """Whether the pin contains a hash."""
        return self.algorithm != "commit"

    def compute_for_file(self, path: Path) -> "Pin":
        """Hash a local file with the algorithm of this pin; return the hash as a pin. `cache_hashes` caches it."""
        return self.build_from_hashes(get_hashes(path)) if self.is_hash else self

    def build_from_hashes(self, computed: FileHashes) -> "Pin":
        """Return a pin with the one of the `computed` hashes that has the algorithm of this pin."""
        if not self.is_hash:
            return self
        return Pin(self.algorithm, computed.sha256 if self.algorithm == "sha256" else computed.git_blob)

    def __str__(self) -> str:
        return f"{self.algorithm}:{self.digest}" if self.is_hash else self.algorithm


@dataclass(frozen=True, slots=True)
class UpstreamFile:
    """A file of an upstream repository at the pinned commit.

    `size` is the number of bytes, or None if it is not known. `licence_stated` is false if the repository states no
    licence. `service` serves the repository. `gated` is true if users must accept conditions before a download.
    """

    repository: str
    commit: str
    path: str
    pin: Pin
    size: int | None = None
    licence_stated: bool = True
    service: Service = "github"
    gated: bool = False

    @property
    def folder(self) -> str:
        """The folder of the repository in the cache and in a mirror: `owner/repository`, or `hub/owner/repository`."""
        return self.repository if self.service == "github" else f"{_HUB_FOLDER}/{self.repository}"

    @property
    def name(self) -> str:
        """The name `owner/repository/path`, which is used in messages and as the path in a mirror."""
        return f"{self.folder}/{self.path}"


@dataclass(frozen=True, slots=True)
class Repository:
    """An upstream repository: its pinned commit, licence, citation, content warning and files."""

    name: str
    commit: str
    licence: str
    citation: str
    warning: str
    files: dict[str, UpstreamFile]


@cache
def load_repositories() -> dict[str, Repository]:
    """Return the repositories whose files are pinned, as a mapping from `owner/name` to the repository."""
    folder = files("tiltmeter.datasets").joinpath("repositories")
    pinned = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    repositories = [_build_repository(**tomllib.loads(file.read_text(encoding="utf-8"))) for file in pinned]
    return {repository.name: repository for repository in repositories}


def is_pinned(path: Path) -> bool:
    """Return whether a local file has the hash of any pinned file; `cache_hashes` caches the hash."""
    hashes = get_hashes(path)
    return not _list_pins().isdisjoint({Pin("sha256", hashes.sha256), Pin("git-blob", hashes.git_blob)})


@cache
def _list_pins() -> frozenset[Pin]:
    return frozenset(file.pin for repository in load_repositories().values() for file in repository.files.values())


def get_upstream_file(repository: str, path: str) -> UpstreamFile:
    """Return the pinned file at `path` of a repository; raise a KeyError if no such file is pinned."""
    return load_repositories()[repository].files[path]


def _build_repository(
    name: str,
    commit: str,
    files: dict[str, str],
    licence_stated: bool = True,
    service: Service = "github",
    gated: bool = False,
    **metadata: str,
) -> Repository:
    pinned = {}
    for path, value in files.items():
        pin, _, text = value.partition(" ")
        size = int(text) if text else None
        pinned[path] = UpstreamFile(name, commit, path, _parse_pin(pin), size, licence_stated, service, gated)
    return Repository(name=name, commit=commit, files=pinned, **metadata)


def _parse_pin(text: str) -> Pin:
    algorithm, _, digest = text.partition(":")
    if algorithm == "sha256":
        return Pin("sha256", digest)
    if algorithm == "git-blob":
        return Pin("git-blob", digest)
    if text == "commit":
        return Pin("commit", "")
    raise ValueError(f"repositories: unknown hash algorithm {algorithm!r}")
