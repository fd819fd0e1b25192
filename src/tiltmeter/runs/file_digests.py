"""Digests of a run's files, kept in its manifest, by which files that were changed later are reported."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tiltmeter.runs.run_files import MANIFEST, NAMES

# The entry of the manifest; runs of earlier versions have none.
DIGESTS = "digests"


def with_digests(manifest: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The manifest with the digests of the files of a folder, and its own."""
    files = {name: _digest_file(folder / name) for name in NAMES if name != MANIFEST and (folder / name).is_file()}
    return {**_without_digests(manifest), DIGESTS: {**files, MANIFEST: _digest_manifest(manifest)}}


def with_own_digest(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A manifest that was changed by Tiltmeter, with a new digest of its own; those of the files stay."""
    return {**_without_digests(manifest), DIGESTS: {**manifest.get(DIGESTS, {}), MANIFEST: _digest_manifest(manifest)}}


def list_changed_files(manifest: Mapping[str, Any], folder: Path, names: Sequence[str] = NAMES) -> list[str]:
    """Which of a run's files are gone, or not as they were written; none if the manifest has no digests."""
    digests = manifest.get(DIGESTS, {})
    changed = [name for name in names if name in digests and name != MANIFEST and _is_changed(folder / name, digests)]
    if digests and digests.get(MANIFEST) != _digest_manifest(manifest):
        changed.append(MANIFEST)
    return changed


def describe_changed_files(changed: Sequence[str], folder: Path | str = "") -> list[str]:
    """The sentence on files that were changed; none if there are none.

    >>> describe_changed_files(["measures.json"], "runs/bert")
    ['runs/bert: measures.json was changed since the run was saved, and may not be what was measured.']
    """
    if not changed:
        return []
    where = f"{folder}: " if str(folder) else ""
    names = " and ".join([", ".join(changed[:-1]), changed[-1]] if len(changed) > 1 else changed)
    return [
        f"{where}{names} {'were' if len(changed) > 1 else 'was'} changed since the run was saved, and may not be what "
        "was measured."
    ]


def _is_changed(path: Path, digests: Mapping[str, Any]) -> bool:
    return not path.is_file() or _digest_file(path) != digests[path.name]


def _digest_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest_manifest(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(_without_digests(manifest), sort_keys=True).encode()).hexdigest()


def _without_digests(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in manifest.items() if name != DIGESTS}
