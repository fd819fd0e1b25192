"""Articles from a data set on the Hugging Face hub, streamed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tiltmeter.errors import DataError, DownloadError, UsageError
from tiltmeter.models.hub_access import build_access_hint
from tiltmeter.training.articles import Article


@dataclass(frozen=True)
class HubArticles:
    """The rows of a data set `hf:NAME:CONFIG:SPLIT`, with a column `text`; the split is `train` if none is given.

    Columns `id` and `group` are used if there are any. Without `group`, articles of two languages are never the same
    one, because Wikipedia's ids are numbers of their language.
    """

    name: str
    language: str

    def count(self) -> None:
        """Not known before the data set is read."""
        return

    def read(self) -> Iterator[Article]:
        """The articles in the order of the data set."""
        rows = 0
        for rows, row in enumerate(self._rows(), 1):
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

    def _rows(self) -> Iterator[dict[str, Any]]:
        name, config, split, *rest = [*self.name.removeprefix("hf:").split(":"), "", "", ""]
        if not name or any(rest):
            raise UsageError(f"{self.name} is not hf:NAME:CONFIG:SPLIT, as in hf:wikimedia/wikipedia:20231101.en.")
        from datasets import load_dataset

        try:
            yield from load_dataset(name, config or None, split=split or "train", streaming=True)
        # The library and what it is built on raise errors of many kinds, for a missing data set and a missing network.
        except Exception as error:
            if hint := build_access_hint(error, name, folder="datasets/"):
                raise DownloadError(hint) from error
            reason = str(error).strip().splitlines() or [type(error).__name__]
            raise DownloadError(
                f"{self.name} cannot be read ({reason[0]}); check the name and the connection, or give the articles as "
                "a file."
            ) from error
