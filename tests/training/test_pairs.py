"""Sentence pairs: complete, balanced, split by article and reproducible."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest

from tests.support.messages import raises_mentioning
from tests.training.made_articles import made, write_html, write_jsonl
from tiltmeter.errors import DataError, TiltmeterError, UsageError
from tiltmeter.training import pairs_creation
from tiltmeter.training.article_sources import open_sources
from tiltmeter.training.articles import Article
from tiltmeter.training.negative_pairs import StoredSentence, match_sentences
from tiltmeter.training.pairs_creation import PairOptions, make_pairs
from tiltmeter.training.pairs_files import read_pairs
from tiltmeter.training.pairs_summary import PairsSummary

ALL = PairOptions(held_out=0.3, parts="all")
LANGUAGES = ("en", "de", "fr")
Corpus = dict[str, dict[str, list[str]]]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """Forty articles in three languages with repeated, short and English sentences."""
    articles = {language: made(language, 40) for language in LANGUAGES}
    recurring = "This sentence stands in many articles."
    for number, id in enumerate(articles["en"]):
        if number % 3 == 0:
            articles["en"][id].insert(3, recurring.upper() if number % 2 else recurring)
        if number % 4 == 0:
            articles["en"][id].insert(2, "Too short.")
        if number % 5 == 0:
            articles["de"][id][1] = articles["en"][id][1]
        if number in (11, 12):
            articles["fr"][id][2] = "Cette phrase est dans deux articles."
        if number % 7 == 0:
            articles["fr"][id][4] = f"Nobody has translated this long sentence number {number} into French yet."
    return articles


@pytest.fixture(scope="module")
def folders(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("articles")
    return [f"{language}={write_html(folder / language, articles)}" for language, articles in corpus.items()]


def tables(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    pairs = read_pairs(folder)
    return pairs.train.to_table().to_pandas(), pairs.held_out.to_table().to_pandas()


@pytest.fixture(scope="module")
def made_pairs(folders: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PairsSummary]:
    out = tmp_path_factory.mktemp("pairs") / "all"
    return out, make_pairs(open_sources(folders), out, ALL)


def neighbours(corpus: Corpus) -> Iterator[tuple[str, str, str, str]]:
    """Yield the expected positive pairs, computed without a database."""
    plain = {
        language: Counter(" ".join(text.lower().split()) for texts in articles.values() for text in texts)
        for language, articles in corpus.items()
    }
    for language, articles in corpus.items():
        for id, texts in articles.items():
            for first, second in pairwise(texts):
                both = [text.lower() for text in (first, second)]
                if any(len(text.split()) < 4 or plain[language][text] > 1 for text in both):
                    continue
                if language != "en" and any(plain["en"][text] or "nobody has translated" in text for text in both):
                    continue
                yield language, id, first, second


def test_positive_pairs_are_all_kept_neighbours(corpus: Corpus, made_pairs: tuple[Path, PairsSummary]) -> None:
    both = pd.concat(tables(made_pairs[0]))
    true = both[both.label == 1].drop(columns=["label", "group"])
    assert sorted(true.itertuples(index=False, name=None)) == sorted(neighbours(corpus))


def test_labels_are_balanced_and_no_sentence_reveals_its_label(made_pairs: tuple[Path, PairsSummary]) -> None:
    for table in tables(made_pairs[0]):
        for language in LANGUAGES:
            own = table[table.language == language]
            true, false = own[own.label == 1], own[own.label == 0]
            assert len(true) == len(false) > 10
            assert sorted(true["first"]) == sorted(false["first"])
            assert sorted(true["second"]) == sorted(false["second"])


def test_negative_pairs_are_from_two_articles_of_one_side(
    corpus: Corpus, made_pairs: tuple[Path, PairsSummary]
) -> None:
    article_of = {
        (language, text): id
        for language, articles in corpus.items()
        for id, texts in articles.items()
        for text in texts
    }
    for table in tables(made_pairs[0]):
        own_side = set(table[table.label == 1].article)
        for row in table[table.label == 0].itertuples():
            assert article_of[row.language, row.first] == row.article
            assert article_of[row.language, row.second] != row.article
            assert article_of[row.language, row.second] in own_side


def test_an_article_is_on_one_side_in_all_languages(made_pairs: tuple[Path, PairsSummary]) -> None:
    train, held_out = tables(made_pairs[0])
    assert not set(train.article) & set(held_out.article)
    assert {*train.article, *held_out.article} == {f"page-{number:03}" for number in range(40)}
    assert 4 <= held_out.article.nunique() <= 20


def test_translations_have_the_number_of_their_article(tmp_path: Path) -> None:
    rows = [
        {"id": f"{language}-{id}", "language": language, "group": id, "sentences": texts}
        for language in ("en", "de")
        for id, texts in made(language, 40).items()
    ]
    make_pairs(open_sources([str(write_jsonl(tmp_path / "rows.jsonl", rows))]), tmp_path / "pairs", ALL)
    both = pd.concat(tables(tmp_path / "pairs"))
    by_group = both.groupby("group")["article"].unique()
    assert len(by_group) == 40
    for names in by_group:
        assert len({name.partition("-")[2] for name in names}) == 1
    assert sum(len(names) == 2 for names in by_group) > 30


def test_the_order_is_shuffled(made_pairs: tuple[Path, PairsSummary]) -> None:
    train, _ = tables(made_pairs[0])
    for column in ("language", "label", "article"):
        changes = (train[column] != train[column].shift()).sum()
        assert changes > 0.35 * len(train), column
    # The positive and the negative pair with the same first sentence are far apart in the file.
    positions = train.reset_index().groupby(["language", "first"])["index"].agg(["min", "max"])
    assert (positions["max"] - positions["min"]).mean() > len(train) / 6


def test_the_summary_counts(corpus: Corpus, made_pairs: tuple[Path, PairsSummary]) -> None:
    folder, summary = made_pairs
    train, held_out = tables(folder)
    counts = summary.languages
    for language in LANGUAGES:
        assert counts[language].articles == counts[language].shared_articles == 40
        assert counts[language].train_pairs == (train.language == language).sum()
        assert counts[language].held_out_pairs == (held_out.language == language).sum()
    assert counts["en"].sentences == sum(map(len, corpus["en"].values()))
    assert counts["en"].usable == counts["en"].sentences - 10
    assert counts["en"].recurring == 14
    assert counts["en"].distinct == counts["en"].usable - 13
    assert counts["de"].same_as_english == 8
    assert counts["fr"].english == 6
    assert counts["fr"].recurring == 2
    assert counts["fr"].kept == 240 - 6 - 2
    assert [warning[:2] for warning in summary.warnings] == ["de", "fr"]
    stored = read_pairs(folder).summary
    assert stored["languages"]["fr"]["english"] == 6
    assert stored["settings"]["seed"] == 0
    assert {"sentencex", "py3langid", "tiltmeter"} <= set(stored["versions"])
    assert all(source["digest"] for source in stored["sources"])


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_same_bytes_in_another_order_and_with_more_processes(
    corpus: Corpus, made_pairs: tuple[Path, PairsSummary], tmp_path: Path
) -> None:
    rows = [
        {"id": id, "language": language, "sentences": texts}
        for language, articles in corpus.items()
        for id, texts in articles.items()
    ]
    expected = contents(made_pairs[0])
    assert set(expected) == {"train.parquet", "held-out.parquet", "summary.json"}
    backwards = write_jsonl(tmp_path / "backwards.jsonl", rows[::-1])
    for name, processes in (("one", 1), ("three", 3)):
        make_pairs(open_sources([str(backwards)]), tmp_path / name, ALL, processes=processes)
        found = contents(tmp_path / name)
        assert found["train.parquet"] == expected["train.parquet"]
        assert found["held-out.parquet"] == expected["held-out.parquet"]


def test_another_seed_gives_another_split(
    folders: list[str], made_pairs: tuple[Path, PairsSummary], tmp_path: Path
) -> None:
    make_pairs(open_sources(folders[:1]), tmp_path / "other", PairOptions(held_out=0.3, seed=1))
    _, held_out = tables(made_pairs[0])
    _, other = tables(tmp_path / "other")
    assert set(held_out.article) != set(other.article)


def test_equal_parts(folders: list[str], made_pairs: tuple[Path, PairsSummary], tmp_path: Path) -> None:
    summary = make_pairs(open_sources(folders), tmp_path / "equal", PairOptions(held_out=0.3))
    train, held_out = tables(tmp_path / "equal")
    every, every_held_out = tables(made_pairs[0])
    fewest = every.language.value_counts().min()
    assert set(train.language.value_counts()) == {fewest}
    assert set(train.groupby(["language", "label"]).size()) == {fewest / 2}
    assert held_out.equals(every_held_out)
    left_out = {language: counts.train_pairs_left_out for language, counts in summary.languages.items()}
    assert min(left_out.values()) == 0
    assert sum(left_out.values()) == len(every) - len(train)


def test_ids_that_are_not_shared_cause_a_warning(tmp_path: Path) -> None:
    sources = []
    for language in ("en", "de"):
        articles = {f"{language}-{id}": texts for id, texts in made(language, 20).items()}
        sources.append(f"{language}={write_html(tmp_path / language, articles)}")
    summary = make_pairs(open_sources(sources), tmp_path / "out", ALL)
    assert len([warning for warning in summary.warnings if "0 of 20 articles" in warning]) == 2


def test_groups_identify_translations_with_different_ids(tmp_path: Path) -> None:
    rows = [
        {"id": f"{language}-{id}", "group": id, "language": language, "sentences": texts}
        for language in ("en", "de")
        for id, texts in made(language, 30).items()
    ]
    summary = make_pairs(open_sources([str(write_jsonl(tmp_path / "a.jsonl", rows))]), tmp_path / "out", ALL)
    assert summary.warnings == []
    assert {counts.shared_articles for counts in summary.languages.values()} == {30}
    train, held_out = (set(table.article.str[3:]) for table in tables(tmp_path / "out"))
    assert not train & held_out


def test_a_folder_that_cannot_be_created(folders: list[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with raises_mentioning(TiltmeterError, str(tmp_path / "file")):
        make_pairs(open_sources(folders), tmp_path / "file/out", ALL)


def test_a_limit_of_articles(folders: list[str], tmp_path: Path) -> None:
    summary = make_pairs(open_sources(folders), tmp_path / "few", PairOptions(held_out=0.5, limit=20))
    assert {counts.articles for counts in summary.languages.values()} == {20}


def stored(articles: Sequence[int]) -> list[StoredSentence]:
    return [StoredSentence(article, number, 0) for number, article in enumerate(articles)]


@pytest.mark.parametrize(
    "articles",
    [[1, 2], [1, 1, 2, 2], [1, 1, 2, 3], [1] * 50 + [2] * 30 + [3] * 20, [*range(40)] * 60, [1, 2, 3] * 900],
)
def test_matching_is_complete_unless_one_article_has_most_sentences(articles: list[int]) -> None:
    matched = list(match_sentences(stored(articles), stored(articles)))
    assert sorted(first.id for first, _ in matched) == list(range(len(articles)))
    assert sorted(second.id for _, second in matched) == list(range(len(articles)))
    assert all(first.article != second.article for first, second in matched)


def test_sentences_without_a_match_are_omitted() -> None:
    matched = list(match_sentences(stored([1, 1, 1, 1, 2]), stored([1, 1, 1, 1, 2])))
    assert len(matched) == 2
    assert all(first.article != second.article for first, second in matched)


def test_nothing_is_left_when_an_article_is_bad(tmp_path: Path) -> None:
    folder = write_html(tmp_path / "en", made("en", 20))
    (folder / "page-010.html").write_bytes(b"<p>Caf\xe9 with a wrong encoding.</p>")
    with raises_mentioning(DataError, "page-010.html", "UTF-8"):
        make_pairs(open_sources([f"en={folder}"]), tmp_path / "out", ALL)
    assert [path.name for path in tmp_path.iterdir()] == ["en"]


def test_nothing_is_left_when_writing_fails(
    folders: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(pairs_creation, "write_pairs", full)
    with raises_mentioning(TiltmeterError, str(tmp_path / "out"), "no space left"):
        make_pairs(open_sources(folders), tmp_path / "out", ALL)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_files_is_not_overwritten(folders: list[str], tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("keep")
    with raises_mentioning(UsageError, str(tmp_path), "not empty"):
        make_pairs(open_sources(folders), tmp_path, ALL)
    assert (tmp_path / "notes.txt").read_text() == "keep"


def test_reading_an_invalid_folder_of_pairs(made_pairs: tuple[Path, PairsSummary], tmp_path: Path) -> None:
    with raises_mentioning(DataError, "no train.parquet"):
        read_pairs(tmp_path)
    for name, content in contents(made_pairs[0]).items():
        (tmp_path / name).write_bytes(content)
    assert read_pairs(tmp_path).languages == ("de", "en", "fr")
    (tmp_path / "held-out.parquet").write_bytes(b"PAR1")
    with raises_mentioning(DataError, "held-out.parquet", "Parquet file"):
        read_pairs(tmp_path)
    (tmp_path / "summary.json").write_text("[]")
    with raises_mentioning(DataError, "summary.json", "summary of pairs"):
        read_pairs(tmp_path)


class _Endless:
    """A source that counts how many articles were read from it."""

    name, language = "made", "en"

    def __init__(self) -> None:
        self.articles_read = 0

    def count_articles(self) -> None:
        return

    def read_articles(self) -> Iterator[Article]:
        for id, texts in made("en", 200).items():
            self.articles_read += 1
            yield Article(id, "en", id, id, "sentences", tuple(texts))


@pytest.mark.parametrize("processes", [1, 2])
def test_articles_are_not_read_ahead(processes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from tiltmeter.training import articles_preparation

    monkeypatch.setattr(articles_preparation, "_BATCH_SIZE", 5)
    source = _Endless()
    prepared = articles_preparation.ArticlePreparation(0, frozenset({"en"}), False).prepare_articles(
        source.read_articles(), processes
    )
    next(prepared)
    assert source.articles_read <= 5 * 2 * processes
    assert len([*prepared]) == 199
