"""Read and write `manifest.json`."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tiltmeter.errors import DataError
from tiltmeter.files import write_text
from tiltmeter.runs.file_digests import DIGESTS, digest_files, digest_manifest
from tiltmeter.runs.manifest import Manifest
from tiltmeter.runs.run_files import MANIFEST
from tiltmeter.runs.typed_json import check_type, from_json, to_json
from tiltmeter.text_files import read_json


class ManifestError(DataError):
    """The manifest of a run cannot be read."""


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a run's folder; raise a ManifestError if it is missing, damaged or invalid."""
    try:
        return parse_manifest(read_json(folder / MANIFEST))
    except DataError as error:
        raise ManifestError(
            f"The run in {folder} cannot be read: {error} Repeat the run, or copy its complete folder."
        ) from error


def parse_manifest(values: Any) -> Manifest:
    """Return the manifest from the content of `manifest.json`; raise a DataError if it is invalid."""
    manifest = from_json(Manifest, values, MANIFEST)
    _check_request(manifest.request)
    digest = manifest.digests.get(MANIFEST)
    return replace(manifest, is_edited=bool(manifest.digests) and digest != digest_manifest(values))


def read_request(folder: Path) -> Mapping[str, Any] | None:
    """Return the request of the run in a folder, even if the rest of the manifest is invalid.

    Return None if the request itself is missing or invalid.
    """
    try:
        request = read_json(folder / MANIFEST)["request"]
    except (DataError, KeyError, TypeError):
        return None
    return request if isinstance(request, dict) else None


def _check_request(request: Mapping[str, Any]) -> None:
    """Raise a DataError if an entry of the request has the wrong type; only entries that commands use are checked."""
    where = f"of 'request' of {MANIFEST}"
    for name in ("models", "on"):
        given = request.get(name, [])
        for entry in given if isinstance(given, list) else [given]:
            check_type(entry, (str,), f"{name!r} {where}")
    for name in ("protocol", "kind", "dtype", "perturb", "tokenizer"):
        if request.get(name) is not None:
            check_type(request[name], (str,), f"{name!r} {where}")
    if request.get("limit") is not None:
        check_type(request["limit"], (int,), f"'limit' {where}")


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of a run's folder; a folder with a manifest counts as a complete run.

    The manifest's own digest is updated. If a user edited the manifest, the old digest is kept, so that the edit can
    still be detected.
    """
    values = _to_json_values(manifest)
    if manifest.digests and not manifest.is_edited:
        values[DIGESTS] = {**manifest.digests, MANIFEST: digest_manifest(values)}
    write_json(folder / MANIFEST, values)


def write_json(path: Path, values: object) -> None:
    """Write a JSON file; NaN is an error, because it is not valid JSON."""
    write_text(path, json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def add_digests(manifest: Manifest, folder: Path) -> Manifest:
    """Return the manifest with digests of the run's other files; `write_manifest` adds the digest of the manifest."""
    return replace(manifest, digests=digest_files(folder), is_edited=False)


def _to_json_values(manifest: Manifest) -> dict[str, Any]:
    """Return the manifest as JSON values: tuples become lists, and keys become strings."""
    values: dict[str, Any] = json.loads(json.dumps(to_json(manifest), allow_nan=False))
    return values
