"""Articles from a data set of the Hugging Face hub, which is read as a stream."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tiltmeter.errors import DataError, DownloadError, UsageError
from tiltmeter.models.hub_access import build_access_hint
from tiltmeter.training.articles import Article


@dataclass(frozen=True)
class HubArticles:
    """The rows of a data set `hf:NAME:CONFIG:SPLIT` that has a column `text`; the default split is `train`.

    The columns `id` and `group` are used if they exist. Without `group`, rows of different languages with equal ids are
    treated as different articles, because each Wikipedia has its own numbering of ids.
    """

    name: str
    language: str

    def count_articles(self) -> None:
        """Return None, because the number of articles is unknown before the data set is read."""
        return

    def read_articles(self) -> Iterator[Article]:
        """Yield the articles in the order of the data set."""
        rows = 0
        for rows, row in enumerate(self._stream_rows(), 1):
            location = f"{self.name}, row {rows}"
            text, id = row.get("text"), row.get("id")
            if not isinstance(text, str):
                raise DataError(f"{location} has no text; the data set needs a column `text`.")
            id = str(rows if id is None else id)
            group = row.get("group")
            group = f"{self.language}/{id}" if group is None else str(group)
            yield Article(id, self.language, group, location, "lines", (text,))
        if not rows:
            raise DataError(f"{self.name} is empty; name another data set, config or split.")

    def _stream_rows(self) -> Iterator[dict[str, Any]]:
        name, config, split, *rest = [*self.name.removeprefix("hf:").split(":"), "", "", ""]
        if not name or any(rest):
            raise UsageError(f"{self.name} is not hf:NAME:CONFIG:SPLIT, as in hf:wikimedia/wikipedia:20231101.en.")
        from datasets import load_dataset

        try:
            yield from load_dataset(name, config or None, split=split or "train", streaming=True)
        # The library raises many classes of errors if the data set or the network is missing.
        except Exception as error:
            if hint := build_access_hint(error, name, folder="datasets/"):
                raise DownloadError(hint) from error
            reason = str(error).strip().splitlines() or [type(error).__name__]
            raise DownloadError(
                f"{self.name} cannot be read ({reason[0]}); check the name and the connection, or give the articles as "
                "a file."
            ) from error
