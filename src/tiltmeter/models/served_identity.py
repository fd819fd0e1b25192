"""The identity of a model on a server: a fingerprint that differs from those of other models on the same server."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from tiltmeter.files import write_text

# Maximum change of a probe's log-probability between two runs that still counts as the same model.
_MAX_CHANGE = 0.05


class ServedIdentity:
    """The fingerprint of a model on a server, computed from names (such as the address) and from `probes`.

    `probes` are the log-probabilities of the probes, the fixed sentences of the self-test. The folder `cache` contains
    these log-probabilities from earlier runs. If two models have the same log-probabilities, a number is appended to
    those of the second model, so that the fingerprints differ.
    """

    def __init__(self, names: Sequence[str], probes: Sequence[float], cache: Path | None) -> None:
        self._names, self._probes = list(names), list(probes)
        key = hashlib.sha256("\n".join(names).encode()).hexdigest()
        self._path = cache / "endpoints" / f"{key}.json" if cache is not None else None
        self._known = _read_earlier_values(self._path)
        self._same = [earlier for earlier in reversed(self._known) if self._has_same_values(earlier)]
        if not self._same:
            self._add_entry(self._probes)
        self._chosen = self._same[0]

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the model; `candidates` changes it if earlier models had the same probe values."""
        return hashlib.sha256(json.dumps([*self._names, self._chosen]).encode()).hexdigest()

    def list_candidate_fingerprints(self) -> Iterator[str]:
        """Yield the fingerprints of earlier models with the same probe values, and then a new fingerprint.

        The fingerprint that was yielded last becomes the value of the property `fingerprint`.
        """
        others = [earlier for earlier in self._same if earlier != self._chosen]
        for candidate in (self._chosen, *others):
            self._chosen = candidate
            yield self.fingerprint
        self._add_entry([*self._same[-1][: len(self._probes)], float(len(self._same))])
        self._chosen = self._same[0]
        yield self.fingerprint

    def _has_same_values(self, earlier: Sequence[float]) -> bool:
        count = len(self._probes)
        return count <= len(earlier) <= count + 1 and all(
            abs(one - other) <= _MAX_CHANGE for one, other in zip(earlier, self._probes, strict=False)
        )

    def _add_entry(self, entry: list[float]) -> None:
        self._same.insert(0, entry)
        self._known.append(entry)
        if self._path is not None:
            write_text(self._path, json.dumps(self._known))


def _read_earlier_values(path: Path | None) -> list[list[float]]:
    """Return the log-probabilities of the probes in earlier runs; an empty list if the file is missing or damaged."""
    if path is None or not path.exists():
        return []
    try:
        return [list(map(float, earlier)) for earlier in json.loads(path.read_text(encoding="utf-8"))]
    except (ValueError, TypeError):
        return []
