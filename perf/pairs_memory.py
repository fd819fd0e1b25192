"""Peak memory and time of `tiltmeter train pairs` by number of articles, each in a separate process.

python -m perf.pairs_memory --articles 10000 100000 1000000
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiltmeter.training.articles import Article

_SENTENCES = 6
_WORDS = [first + second for first in ("ba", "ke", "li", "mo") for second in ("ra", "sen", "tol", "vik", "zum")]


@dataclass(frozen=True)
class MadeArticles:
    """Articles of random words; one in ten sentences is the same in many articles."""

    articles: int
    language: str
    name: str = "made"

    def count_articles(self) -> int:
        return self.articles

    def read_articles(self) -> Iterator[Article]:
        for number in range(self.articles):
            made = random.Random(number)
            sentences = tuple(
                "Recurring sentence of many articles."
                if made.random() < 0.1
                else " ".join(made.choices(_WORDS, k=12)).capitalize() + "."
                for _ in range(_SENTENCES)
            )
            yield Article(str(number), self.language, str(number), f"made, article {number}", "sentences", sentences)


def measure(articles: int) -> dict[str, Any]:
    """Create pairs, and return a record of their number, the seconds and the peak memory of the process in bytes."""
    from tiltmeter.training.pairs_creation import PairOptions, make_pairs

    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        options = PairOptions(check_language=False)
        summary = make_pairs([MadeArticles(articles, "en")], Path(folder) / "pairs", options)
    pairs = sum(counts.train_pairs + counts.held_out_pairs for counts in summary.languages.values())
    seconds = time.perf_counter() - began
    return {"articles": articles, "pairs": pairs, "seconds": seconds, "peak": _peak_memory()}


def _peak_memory() -> int:
    """Return the peak memory of this process in bytes; `perf.machine` would import torch, which pairs do not need."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def measure_apart(articles: int) -> dict[str, Any]:
    """Call `measure` in a separate process."""
    command = [sys.executable, "-m", __spec__.name, "--bare", "--articles", str(articles)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    record: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return record


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--articles", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--bare", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.bare:
        print(json.dumps(measure(options.articles[0])))
        return
    print(f"{'articles':>10}{'pairs':>12}{'seconds':>9}{'peak MB':>9}")
    for articles in options.articles:
        record = measure_apart(articles)
        print(
            f"{record['articles']:>10,}{record['pairs']:>12,}{record['seconds']:>9.1f}{record['peak'] / 1e6:>9.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
