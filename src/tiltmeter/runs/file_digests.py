"""Digests of a run's files. The manifest stores them, so that later changes of the files can be detected."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tiltmeter.runs.manifest import Manifest
from tiltmeter.runs.run_files import MANIFEST, NAMES

# The key of the digests in the manifest.
DIGESTS = "digests"


def digest_files(folder: Path) -> dict[str, str]:
    """Return a mapping from file name to SHA-256 hash, for the files of a run's folder except its manifest."""
    return {name: _digest_file(folder / name) for name in NAMES if name != MANIFEST and (folder / name).is_file()}


def digest_manifest(values: Mapping[str, Any]) -> str:
    """Return the SHA-256 hash of the content of a manifest, without its digests."""
    without = {name: value for name, value in values.items() if name != DIGESTS}
    return hashlib.sha256(json.dumps(without, sort_keys=True).encode()).hexdigest()


def list_changed_files(manifest: Manifest, folder: Path, names: Sequence[str] = NAMES) -> list[str]:
    """Return the names of a run's files that are missing or changed; an empty list if the manifest has no digests.

    A file without a digest counts as changed, because every file gets a digest when a run is saved.
    """
    digests = manifest.digests
    if not digests:
        return []
    changed = [name for name in names if name != MANIFEST and _is_changed(folder / name, digests.get(name))]
    return [*changed, MANIFEST] if manifest.is_edited else changed


def describe_changed_files(changed: Sequence[str], folder: Path | str = "") -> list[str]:
    """Return a warning about changed files as a list of at most one sentence.

    >>> describe_changed_files(["measures.json"], "runs/bert")
    ['runs/bert: measures.json was changed after the run was saved; its numbers may not be the measured ones.']
    """
    if not changed:
        return []
    where = f"{folder}: " if str(folder) else ""
    names = " and ".join([", ".join(changed[:-1]), changed[-1]] if len(changed) > 1 else changed)
    verb, owner = ("were", "their") if len(changed) > 1 else ("was", "its")
    return [f"{where}{names} {verb} changed after the run was saved; {owner} numbers may not be the measured ones."]


def _is_changed(path: Path, digest: str | None) -> bool:
    """Return whether a file differs from its digest; a file without a digest is changed if it exists."""
    if not path.is_file():
        return digest is not None
    return _digest_file(path) != digest


def _digest_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
