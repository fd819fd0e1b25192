"""Sentence pairs as token ids in files that are mapped into memory, so that memory does not grow with the data."""

import json
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.files import write_text
from tiltmeter.models.head_config import HeadConfig
from tiltmeter.models.head_text import encode_pairs
from tiltmeter.models.tokenizer_text import TokenizerText

# Pairs tokenised at a time; fresh negatives are exchanged within so many pairs.
CHUNK = 50_000
_DESCRIPTION = "tokens.json"
# The flat arrays of a folder: token ids, token types, and of each pair length, label, language and article.
_ARRAYS = {
    "ids": np.int32,
    "segments": np.uint8,
    "lengths": np.int32,
    "labels": np.int8,
    "languages": np.int16,
    "articles": np.int64,
}
Told = Callable[[int], None]


@dataclass(frozen=True)
class TokenisedPairs:
    """The pairs in a folder; `names` are the languages that the numbers in `languages` stand for."""

    folder: Path
    names: tuple[str, ...]

    @classmethod
    def open(cls, folder: Path) -> "TokenisedPairs":
        """The pairs that `tokenise_pairs` wrote."""
        described = json.loads((folder / _DESCRIPTION).read_text(encoding="utf-8"))
        return cls(folder, tuple(described["languages"]))

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def ids(self) -> NDArray[np.int32]:
        """The token ids of all pairs, one after the other."""
        found: NDArray[np.int32] = self._map_array("ids")
        return found

    @cached_property
    def segments(self) -> NDArray[np.uint8] | None:
        """The token types of all pairs, one after the other; None if the model has none."""
        found = self._map_array("segments")
        return found if len(found) else None

    @cached_property
    def lengths(self) -> NDArray[np.int32]:
        """The number of tokens of each pair."""
        found: NDArray[np.int32] = self._map_array("lengths")
        return found

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The index of the first token of each pair."""
        return np.cumsum(self.lengths, dtype=np.int64) - self.lengths

    @cached_property
    def labels(self) -> NDArray[np.int8]:
        """1 if the second sentence follows the first."""
        found: NDArray[np.int8] = self._map_array("labels")
        return found

    @cached_property
    def languages(self) -> NDArray[np.int16]:
        """The number of each pair's language."""
        found: NDArray[np.int16] = self._map_array("languages")
        return found

    @cached_property
    def articles(self) -> NDArray[np.int64]:
        """A number for the article of each pair's first sentence, the same in all its languages."""
        found: NDArray[np.int64] = self._map_array("articles")
        return found

    def _map_array(self, name: str) -> Any:
        path = self.folder / f"{name}.bin"
        return np.memmap(path, dtype=_ARRAYS[name], mode="r") if path.stat().st_size else np.empty(0, _ARRAYS[name])


def tokenise_pairs(
    batches: Iterable[pa.RecordBatch],
    folder: Path,
    text: TokenizerText,
    head: HeadConfig,
    *,
    prefixes: Mapping[str, str] | None = None,
    told: Told = lambda _pairs: None,
) -> TokenisedPairs:
    """Write pairs (columns language, article, first, second, label) as token ids; a finished folder is used again.

    `prefixes` are put before the first sentence, by language; by default that with which the head answers.
    """
    if (folder / _DESCRIPTION).is_file():
        return TokenisedPairs.open(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    names: dict[str, int] = {}
    written = 0
    files = {name: (folder / f"{name}.bin").open("wb") for name in _ARRAYS}
    try:
        for batch in batches:
            rows = batch.to_pydict()
            languages: list[str] = rows["language"]
            fronts = [head.prefix if prefixes is None else prefixes.get(language, "") for language in languages]
            pairs = [(a + b, c) for a, b, c in zip(fronts, rows["first"], rows["second"], strict=True)]
            encoded = encode_pairs(text, pairs, head)
            columns: dict[str, Any] = {
                "ids": [token for pair in encoded for token in pair.ids],
                "segments": [token for pair in encoded for token in pair.segments],
                "lengths": [len(pair.ids) for pair in encoded],
                "labels": rows["label"],
                "languages": [names.setdefault(language, len(names)) for language in languages],
                "articles": compute_article_numbers(batch),
            }
            for name, values in columns.items():
                files[name].write(np.array(values, dtype=_ARRAYS[name]).tobytes())
            written += len(encoded)
            told(written)
    finally:
        for file in files.values():
            file.close()
    write_text(folder / _DESCRIPTION, json.dumps({"languages": list(names), "pairs": written}))
    return TokenisedPairs.open(folder)


def with_fresh_negatives(
    batches: Iterable[pa.RecordBatch], seed: int, number: int, only: Collection[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """The pairs, those that do not follow with another second sentence of the same language and another article.

    The new sentences are second sentences of pairs that do follow, whose article is known. `only` names the sentences
    to replace; by default all.
    """
    for index, batch in enumerate(batches):
        table = batch.to_pandas()
        random = np.random.default_rng([seed, number, index])
        seconds = table["second"].to_numpy(copy=True)
        articles = table["article"].to_numpy()
        for _language, rows in table.groupby("language", sort=True).indices.items():
            labels = table["label"].to_numpy()[rows]
            negative, positive = rows[labels == 0], rows[labels == 1]
            if only is not None:
                negative = negative[np.array([second in only for second in seconds[negative]], dtype=bool)]
            if not len(positive):
                continue
            drawn = random.choice(positive, len(negative))
            for _ in range(20):
                clash = articles[drawn] == articles[negative]
                if not clash.any():
                    break
                drawn[clash] = random.choice(positive, int(clash.sum()))
            fresh = articles[drawn] != articles[negative]
            seconds[negative[fresh]] = table["second"].to_numpy()[drawn[fresh]]
        field = batch.schema.field("second")
        columns = {**dict(zip(batch.schema.names, batch.columns, strict=True)), "second": pa.array(seconds, field.type)}
        yield pa.RecordBatch.from_pydict(columns, schema=batch.schema)


def compute_article_numbers(batch: pa.RecordBatch) -> list[int]:
    """For each pair a number of its first sentence's article, the same in all languages of the article."""
    if "group" in batch.schema.names:
        found: list[int] = batch["group"].to_pylist()
        return found
    return [compute_article_number(article) for article in batch["article"].to_pylist()]


def compute_article_number(article: str) -> int:
    """A number of 63 bits for an article's name."""
    return int.from_bytes(blake2b(article.encode(), digest_size=8).digest()) >> 1
