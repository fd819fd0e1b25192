"""The step translate: all declared texts, blanks kept or restored or queued, nothing sent twice."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import pytest

from perf.breaking_engine import WAYS, BreakingEngine
from perf.making_items import blank_item, gest_file, source_file
from tests.support.messages import raises_mentioning
from tiltmeter.datasets.readers.jsonl import write_jsonl
from tiltmeter.errors import UsageError
from tiltmeter.making import translation_step
from tiltmeter.making.blank_restoration import restore_blank
from tiltmeter.making.open_problems import assemble_items
from tiltmeter.making.project import Project, create_project, open_project
from tiltmeter.making.translation_step import estimate_volume, translate_project
from tiltmeter.progress.progress import Progress
from tiltmeter.translators.translation_files import FileTranslator
from tiltmeter.translators.translator_protocol import Price
from tiltmeter.translators.word_alignment import AlignedPair, tokenize_words

CONTEXT = "el cocinero era muy BLANK hoy number0."


def test_all_texts_are_translated(project: Project) -> None:
    done = translate_project(project, BreakingEngine())
    assert (done.items, dict(done.blanks)) == (6, {"kept": 4})
    texts, alone, filled = (project.store.list_texts(role, "i0")["i0"] for role in ("text", "alone", "filled"))
    assert texts["context"] == CONTEXT
    assert texts["target_term"] == "cocinero"
    assert alone == {f"candidates[{n}].word": word for n, word in enumerate(("paciente", "brusco", "cuadrado"))}
    assert filled["candidates[1].word"] == "el cocinero era muy brusco hoy number0."
    assert texts["candidates[2].word"] == "cuadrado"
    assert "candidates[0].sentence" in project.store.list_texts("text", "n0")["n0"]
    history = project.store.list_history("i0")
    assert {entry.by for entry in history} == {"apertium:eng-xyz"}
    assert {entry.why for entry in history if entry.field == "context"} == {"kept underscores"}
    assert [item.id for item in assemble_items(project).items] == ["i0", "i1", "i2", "i3", "n0", "n1"]


def test_what_would_be_sent_is_counted(project: Project) -> None:
    engine = BreakingEngine()
    expected = estimate_volume(project, engine)
    assert expected.texts == {"context": 6, "filled context": 12, "sentence": 6, "word": 3, "term": 4}
    translate_project(project, engine)
    assert sum(map(len, engine.sent)) == expected.new_characters
    assert len(engine.sent) == len(set(engine.sent)) == expected.new_texts


def test_a_paid_service_needs_consent_and_is_paid_once(project: Project, tmp_path: Path) -> None:
    engine = BreakingEngine(price=Price(10.0, "USD", "ours"))
    with raises_mentioning(UsageError, "31 sentences", "characters", "--yes"):
        translate_project(project, engine)
    assert engine.sent == []
    translate_project(project, engine, yes=True)
    sent = list(engine.sent)
    # Another project with the same items sends nothing: the translations are stored.
    source = source_file(tmp_path / "again.jsonl")
    with create_project(tmp_path / "again", source, language="es", system="apertium:eng-xyz") as again:
        assert translate_project(again, engine).items == 6
    assert engine.sent == sent


def test_in_parts_and_again(project: Project) -> None:
    engine = BreakingEngine()
    assert translate_project(project, engine, part="intersentence").items == 2
    assert translate_project(project, engine, limit=3).items == 3
    assert translate_project(project, engine).items == 1
    assert translate_project(project, engine).items == 0
    assert len(engine.sent) == len(set(engine.sent))
    assert [record.facts["items"] for record in project.store.list_steps()] == [2, 3, 1]
    with raises_mentioning(UsageError, "no part 'verse'", "intersentence, intrasentence"):
        translate_project(project, engine, part="verse")


class Killed(BaseException):
    """The end of a process."""


def test_the_record_of_a_step_counts_the_calls_that_were_killed_before_it(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translation_step, "_BATCH", 2)
    source = source_file(tmp_path / "again.jsonl")
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "other-cache"))
    with create_project(tmp_path / "again", source, language="es", system="apertium:eng-xyz") as whole:
        translate_project(whole, BreakingEngine())
        (expected,) = (record.facts for record in whole.store.list_steps() if record.step == "translate")
    monkeypatch.setenv("TILTMETER_CACHE", str(tmp_path / "cache"))

    def kill(progress: Progress) -> None:
        if progress.done:
            raise Killed

    for _ in range(2):
        with pytest.raises(Killed):
            translate_project(project, BreakingEngine(), report=kill)
    assert [record.step for record in project.store.list_steps()] == []
    assert translate_project(project, BreakingEngine()).items == 2
    (found,) = (record.facts for record in project.store.list_steps() if record.step == "translate")
    assert {**found, "seconds": 0} == {**expected, "seconds": 0}
    assert found["items"] == 6
    assert translate_project(project, BreakingEngine()).items == 0
    assert len(project.store.list_steps()) == 1


def test_killed_calls_of_another_system_have_a_record_of_their_own(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translation_step, "_BATCH", 2)

    def kill(progress: Progress) -> None:
        if progress.done:
            raise Killed

    with pytest.raises(Killed):
        translate_project(project, BreakingEngine(), report=kill)
    other = BreakingEngine()
    monkeypatch.setattr(other, "name", "another system")
    translate_project(project, other)
    found = [(record.facts["system"], record.facts["items"]) for record in project.store.list_steps()]
    assert found == [(BreakingEngine().name, 2), ("another system", 4)]


@pytest.mark.parametrize("way", WAYS)
def test_whatever_is_done_to_the_placeholder(project: Project, way: str) -> None:
    """Each blank is at its place, or the item is queued; none is lost or silently wrong."""
    done = translate_project(project, BreakingEngine(way=way))
    assert done.items == 6
    assert sum(done.blanks.values()) == 4
    queued = {stored.finding.item for stored in project.store.list_findings()}
    problems = {problem.item for problem in assemble_items(project).problems}
    for number in range(4):
        context = project.store.list_texts("text", f"i{number}")[f"i{number}"]["context"]
        right = CONTEXT.replace("cocinero", ("cocinero", "jardinero", "enfermero", "cantante")[number])
        is_right = context in (
            right.replace("0", str(number)),
            right.replace("BLANK", "BLANK-").replace("0", str(number)),
        )
        assert is_right or f"i{number}" in queued | problems


def test_the_next_placeholder_is_tried(project: Project) -> None:
    done = translate_project(project, BreakingEngine(way={"underscores": "translated"}))
    assert dict(done.blanks) == {"kept": 4}
    assert project.store.count_blank_outcomes() == {("letters", "kept"): 4}
    assert project.store.list_texts("text", "i0")["i0"]["context"] == CONTEXT


def test_letters_that_the_source_has_too(tmp_path: Path) -> None:
    item = blank_item(0)
    context = "The cook was unBLANKed today."
    candidates = tuple(replace(one, sentence=context.replace("BLANK", one.word)) for one in item.candidates)
    write_jsonl([replace(item, context=context, candidates=candidates)], tmp_path / "source.jsonl")
    source = str(tmp_path / "source.jsonl")
    with create_project(tmp_path / "es", source, language="es", system="apertium:eng-xyz") as project:
        assert dict(translate_project(project, BreakingEngine()).blanks) == {"kept": 1}
        assert project.store.count_blank_outcomes() == {("underscores", "kept"): 1}


def test_the_last_resort_is_the_filled_sentence(project: Project) -> None:
    done = translate_project(project, BreakingEngine(way="dropped"))
    assert dict(done.blanks) == {"restored": 4}
    assert project.store.list_texts("text", "i0")["i0"]["context"] == CONTEXT
    (stored,) = project.store.list_findings("i0")
    assert (stored.finding.rule, stored.finding.kind) == ("blank-restored", "proposed")
    assert stored.finding.proposals == (CONTEXT,)


def test_a_blank_that_cannot_be_restored_is_queued(tmp_path: Path) -> None:
    source = source_file(tmp_path / "source.jsonl", blanks=1, nexts=0)
    with create_project(tmp_path / "es", source, language="es", system="apertium:eng-xyz") as project:
        engine = BreakingEngine(way="dropped")
        # Sentences that have nothing in common do not show where the word was.
        engine._translate = lambda text: sha256(text.encode()).hexdigest()  # type: ignore[method-assign]
        assert dict(translate_project(project, engine).blanks) == {"lost": 1}
        (stored,) = project.store.list_findings("i0")
        assert (stored.finding.rule, stored.finding.kind) == ("blank-lost", "open")
        assert {(problem.kind, problem.reason) for problem in assemble_items(project).problems} >= {
            ("error", "no-blank")
        }


def test_restoring_goes_from_differences_to_words_to_positions() -> None:
    filled = {"a": "Era paciente el cocinero.", "b": "El cocinero fue muy brusco ayer."}
    assert restore_blank({}, {}, filled, {"a": "Paciente"}, 1) == "Era BLANK el cocinero."
    assert restore_blank({}, {}, filled, {"a": "calmo"}, 1) is None
    source, words = {"a": "The cook was patient.", "b": "The cook was gruff."}, {"a": "patient", "b": "gruff"}
    assert restore_blank(source, words, filled, {}, 1, lambda *_: (4, 12)) == "Era BLANK el cocinero."
    twice = {"a": "Paciente y paciente.", "b": "Brusco y brusco."}
    assert restore_blank({}, {}, twice, {"a": "paciente"}, 2) == "BLANK y BLANK."
    assert restore_blank({}, {}, {}, {}, 1) is None


@dataclass(frozen=True)
class WordForWord:
    """Aligns the first word of a source with the last of its translation, and so on."""

    name: str = "reversed"

    def align_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[AlignedPair]:
        aligned = []
        for source, target in pairs:
            words, translated = tokenize_words(source), tokenize_words(target)
            links = frozenset((n, len(translated) - 1 - n) for n in range(min(len(words), len(translated))))
            aligned.append(AlignedPair(tuple(words), tuple(translated), links, links))
        return aligned


def test_alignment_comes_after_all_placeholders(tmp_path: Path) -> None:
    source = source_file(tmp_path / "source.jsonl", blanks=2, nexts=0)
    with create_project(tmp_path / "es", source, language="es", system="apertium:eng-xyz") as project:
        engine = BreakingEngine()
        # Every word is another one in every sentence, so nothing but an alignment tells the place.
        engine._translate = lambda text: " ".join(  # type: ignore[method-assign]
            sha256(f"{text}{word}".encode()).hexdigest() for word in reversed(text.split())
        )
        done = translate_project(project, engine, aligner=WordForWord())  # type: ignore[arg-type]
        assert +done.blanks == {"restored": 2}
        assert project.store.count_blank_outcomes() == {("alignment", "restored"): 2}
        context = project.store.list_texts("text", "i0")["i0"]["context"]
        # BLANK is the fifth of seven words, and the order is reversed.
        assert context.split().index("BLANK") == 2
        assert [stored.finding.kind for stored in project.store.list_findings("i0")] == ["proposed"]


def test_a_file_of_translations(tmp_path: Path) -> None:
    item = blank_item(0)
    rows = {item.context: CONTEXT, "cook": "cocinero", "patient": "paciente", "gruff": "brusco"}
    path = tmp_path / "made.csv"
    path.write_text("from,to\n" + "".join(f"{source},{target}\n" for source, target in rows.items()), encoding="utf-8")
    source = source_file(tmp_path / "source.jsonl", blanks=2, nexts=0)
    with create_project(tmp_path / "es", source, language="es", system=f"file:{path}") as project:
        done = translate_project(project, FileTranslator(str(path)))
        assert (dict(done.blanks), done.not_translated) == ({"kept": 1, "not translated": 1}, 2)
        assembled = assemble_items(project)
    # A text without a translation is never replaced by the English one.
    assert assembled.items == []
    assert assembled.rejected["i0"].endswith("missing: candidates[2].word")
    assert {problem.reason for problem in assembled.problems if problem.item == "i0"} == {"not-translated"}


def test_gendered_pairs(tmp_path: Path) -> None:
    rows = {
        "I was sure.": "Bol som si istý.",
        'She said: "I was sure."': "Povedala: „Bol som si istá.“",
        "I was at home.": "Bol som doma.",
        'She said: "I was at home."': "Povedala: „Bola som doma.“",
        "I slept.": "Spal som.",
        'She said: "I slept."': "Povedala: „Spal som.“",
        "I see a tree.": "Vidím strom.",
    }
    path = tmp_path / "sk.csv"
    lines = [f'"{source.replace(chr(34), chr(34) * 2)}","{target}"\n' for source, target in rows.items()]
    path.write_text("from,to\n" + "".join(lines), encoding="utf-8")
    source = gest_file(tmp_path / "gest.jsonl")
    with create_project(tmp_path / "sk", source, language="sk", system=f"file:{path}", pairs=True) as project:
        translate_project(project, FileTranslator(str(path)))
        assembled = assemble_items(project)
    assert [(item.id, item.female) for item in assembled.items] == [  # type: ignore[attr-defined]
        ("g0", "Bol som si istá."),
        ("g1", "Bola som doma."),
    ]
    assert set(assembled.rejected) == {"g2", "g3"}


def test_projects_are_refused(project: Project, tmp_path: Path) -> None:
    source = project.settings.source
    with raises_mentioning(UsageError, str(project.folder), "already a project"):
        create_project(project.folder, source, language="es", system="deepl")
    with raises_mentioning(UsageError, "'Spanish'", "language code"):
        create_project(tmp_path / "a", source, language="Spanish", system="deepl")
    with raises_mentioning(UsageError, "GEST sentences", "association"):
        create_project(tmp_path / "a", source, language="sk", system="deepl", pairs=True)
    with raises_mentioning(UsageError, "starter:de", "no English items"):
        create_project(tmp_path / "a", "starter:de", language="es", system="deepl")
    with raises_mentioning(UsageError, str(tmp_path / "a"), "not a project", "project.toml"):
        open_project(tmp_path / "a")


def test_settings_are_read_back(project: Project) -> None:
    with open_project(project.folder) as again:
        assert again.settings == project.settings
