"""Digests of a run's files, kept in its manifest, by which files that were changed later are reported."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tiltmeter.runs.manifest import Manifest
from tiltmeter.runs.run_files import MANIFEST, NAMES

# The key of the manifest.
DIGESTS = "digests"


def digest_files(folder: Path) -> dict[str, str]:
    """The SHA-256 hashes of the files of a run's folder, without its manifest."""
    return {name: _digest_file(folder / name) for name in NAMES if name != MANIFEST and (folder / name).is_file()}


def digest_manifest(values: Mapping[str, Any]) -> str:
    """The SHA-256 hash of the content of a manifest, without its digests."""
    without = {name: value for name, value in values.items() if name != DIGESTS}
    return hashlib.sha256(json.dumps(without, sort_keys=True).encode()).hexdigest()


def list_changed_files(manifest: Manifest, folder: Path, names: Sequence[str] = NAMES) -> list[str]:
    """Which of a run's files are gone, or not as they were written; none if the manifest has no digests."""
    digests = manifest.digests
    changed = [name for name in names if name in digests and name != MANIFEST and _is_changed(folder / name, digests)]
    return [*changed, MANIFEST] if manifest.is_edited else changed


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
