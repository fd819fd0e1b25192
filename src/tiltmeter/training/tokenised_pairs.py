"""Sentence pairs as token ids in memory-mapped files, so that memory use does not grow with the number of pairs."""

import json
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.files import write_text
from tiltmeter.models.head_config import HeadConfig
from tiltmeter.models.head_text import encode_pairs
from tiltmeter.models.tokenizer_text import TokenizerText
from tiltmeter.progress.progress import Progress, ReportProgress, ignore_progress

# Number of pairs that are tokenised together. The second sentences of new negative pairs come from the same chunk.
CHUNK = 50_000
_DESCRIPTION = "tokens.json"
# The arrays in a folder: the ids and types of all tokens, and the length, label, language and article of each pair.
_ARRAYS = {
    "ids": np.int32,
    "segments": np.uint8,
    "lengths": np.int32,
    "labels": np.int8,
    "languages": np.int16,
    "articles": np.int64,
}


@dataclass(frozen=True)
class TokenisedPairs:
    """The tokenised pairs in a folder; each number in `languages` is an index into `names`, the language codes."""

    folder: Path
    names: tuple[str, ...]

    @classmethod
    def open(cls, folder: Path) -> "TokenisedPairs":
        """Open a folder that `tokenise_pairs` wrote."""
        description = json.loads((folder / _DESCRIPTION).read_text(encoding="utf-8"))
        return cls(folder, tuple(description["languages"]))

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def ids(self) -> NDArray[np.int32]:
        """The token ids of all pairs, one after the other."""
        array: NDArray[np.int32] = self._map_array("ids")
        return array

    @cached_property
    def segments(self) -> NDArray[np.uint8] | None:
        """The token types of all pairs, one after the other; None if the model has no token types."""
        array = self._map_array("segments")
        return array if len(array) else None

    @cached_property
    def lengths(self) -> NDArray[np.int32]:
        """The number of tokens of each pair."""
        array: NDArray[np.int32] = self._map_array("lengths")
        return array

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The index in `ids` of the first token of each pair."""
        return np.cumsum(self.lengths, dtype=np.int64) - self.lengths

    @cached_property
    def labels(self) -> NDArray[np.int8]:
        """The label of each pair: 1 if the second sentence follows the first, otherwise 0."""
        array: NDArray[np.int8] = self._map_array("labels")
        return array

    @cached_property
    def languages(self) -> NDArray[np.int16]:
        """The index of each pair's language in `names`."""
        array: NDArray[np.int16] = self._map_array("languages")
        return array

    @cached_property
    def articles(self) -> NDArray[np.int64]:
        """The number of the article of each pair's first sentence; all translations of an article have one number."""
        array: NDArray[np.int64] = self._map_array("articles")
        return array

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
    total: int | None = None,
    report: ReportProgress = ignore_progress,
) -> TokenisedPairs:
    """Write pairs as token ids to a folder, and open it; if the folder is already complete, it is only opened.

    `prefixes` maps languages to the text before the first sentence; the default is the prefix of the head. `total` is
    the number of pairs, for the progress.
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
            starts = [head.prefix if prefixes is None else prefixes.get(language, "") for language in languages]
            pairs = [(a + b, c) for a, b, c in zip(starts, rows["first"], rows["second"], strict=True)]
            encoded = encode_pairs(text, pairs, head)
            columns: dict[str, Any] = {
                "ids": [token for pair in encoded for token in pair.ids],
                "segments": [token for pair in encoded for token in pair.segments],
                "lengths": [len(pair.ids) for pair in encoded],
                "labels": rows["label"],
                "languages": [names.setdefault(language, len(names)) for language in languages],
                "articles": rows["group"],
            }
            for name, values in columns.items():
                files[name].write(np.array(values, dtype=_ARRAYS[name]).tobytes())
            written += len(encoded)
            report(Progress(written, total))
    finally:
        for file in files.values():
            file.close()
    write_text(folder / _DESCRIPTION, json.dumps({"languages": list(names), "pairs": written}))
    return TokenisedPairs.open(folder)


def replace_negative_pairs(
    batches: Iterable[pa.RecordBatch], seed: int, number: int, only: Collection[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield all pairs, with new second sentences in the negative pairs, from other articles in the same language.

    The new second sentences are taken from positive pairs, because only there the article of the second sentence is
    known. `number` is the index of the epoch. If `only` is given, just the second sentences in `only` are replaced.
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
