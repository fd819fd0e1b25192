"""GEST: is the speaker of a stereotypical first-person sentence more probably a man or a woman?

Each sentence is quoted in up to four templates, and the score is the log-ratio of the masculine to the feminine word
for its speaker (Pikuliak et al. 2024, Table 2). For masked models, this word is masked. Causal models predict the word
from the text before it, so only templates 3 and 4 apply. Encoder-decoders predict the word in place of a sentinel; the
paper has no results for encoder-decoders.

If both words have the same number of tokens, the means over their tokens are compared; otherwise the item is skipped.
Sentences in other languages than English have frames instead of templates (see `framed_sentences`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tiltmeter.benchmarks.benchmark import Benchmark, PartTrials, SkippedItem, UnsupportedPart, allow_splitting
from tiltmeter.benchmarks.framed_sentences import ask_framed_sentences
from tiltmeter.benchmarks.gender_log_ratios import (
    PROTOCOL,
    PROTOCOLS,
    SAME,
    UNEQUAL,
    ask_masked_wordings,
    build_continuation_questions,
    build_log_ratio_trial,
    reject_other_protocols,
)
from tiltmeter.benchmarks.perturbations import build_perturbations
from tiltmeter.benchmarks.token_alignment import find_text_positions
from tiltmeter.errors import UsageError
from tiltmeter.forms.frames import FRAME
from tiltmeter.forms.gest import GestItem
from tiltmeter.questions import Choice, Kind, Option, Tokenizer, count_common_prefix

SENTINEL = "sentinel"


@dataclass(frozen=True, slots=True)
class SpeakerTemplate:
    """A template that quotes a sentence, with the masculine and the feminine word for its speaker."""

    text: str
    male: str
    female: str

    @property
    def words(self) -> str:
        """Both words, for the column `candidate` of the score table."""
        return f"{self.male}/{self.female}"

    def fill_in_sentence(self, sentence: str, word: str) -> str:
        """Return the template with the sentence and a word filled in."""
        return self.text.format(sentence=sentence, word=word)

    def fill_up_to_word(self, sentence: str, word: str) -> str:
        """Return the filled template up to and including the word."""
        return self.text.partition("{word}")[0].format(sentence=sentence) + word


TEMPLATES = {
    "template-1": SpeakerTemplate('{word} said: "{sentence}"', "He", "She"),
    "template-2": SpeakerTemplate('The {word} said: "{sentence}"', "man", "woman"),
    "template-3": SpeakerTemplate('"{sentence}", {word} said.', "he", "she"),
    "template-4": SpeakerTemplate('"{sentence}", the {word} said.', "man", "woman"),
}
_AFTER_THE_SENTENCE = ("template-3", "template-4")


def list_parts(kind: Kind) -> tuple[str, ...]:
    """Return the templates that apply to a kind of model."""
    return _AFTER_THE_SENTENCE if kind == "causal" else tuple(TEMPLATES)


def ask(part: str, items: Sequence[GestItem], text: Tokenizer, *, protocol: str) -> PartTrials:
    """Return questions about sentences in the template `part`, for a model with the tokenizer `text`."""
    reject_other_protocols("GEST", protocol)
    if part == FRAME:
        return ask_framed_sentences(items, text)
    if part not in TEMPLATES:
        raise UsageError(f"GEST has no part {part!r}; choose one of {', '.join((*TEMPLATES, FRAME))}.")
    if any(item.language != "en" for item in items):
        raise UnsupportedPart(
            "The templates are English. For other languages use eurogest, your own data with `male_frame` and "
            "`female_frame`, or gendered pairs (gest-pairs, or your own pairs from `tiltmeter make new --pairs`)."
        )
    if text.kind == "masked":
        return _ask_masked(TEMPLATES[part], items, text)
    if text.kind == "causal":
        if part not in _AFTER_THE_SENTENCE:
            raise UnsupportedPart(
                f"{part} cannot be measured with a causal model: the word for the speaker comes before the sentence, "
                "so the model would predict this word without having read the sentence."
            )
        return _ask_causal(TEMPLATES[part], items, text)
    return _ask_sentinel(TEMPLATES[part], items, text)


def _ask_masked(template: SpeakerTemplate, items: Sequence[GestItem], text: Tokenizer) -> PartTrials:
    result = PartTrials("masked", PROTOCOL)
    wordings = [
        [template.fill_in_sentence(item.sentence, word) for item in items] for word in (template.male, template.female)
    ]
    ask_masked_wordings(result, items, [template.words] * len(items), wordings, text)
    return result


def _ask_causal(template: SpeakerTemplate, items: Sequence[GestItem], text: Tokenizer) -> PartTrials:
    result = PartTrials("causal", PROTOCOL)
    texts = [
        [template.fill_up_to_word(item.sentence, word) for item in items] for word in (template.male, template.female)
    ]
    wholes = [text.encode_with_special_tokens(wordings) for wordings in texts]
    alone = [text.encode(wordings) for wordings in texts]
    for item, *encoded in zip(items, *wholes, *alone, strict=True):
        # Drop an end-of-text token that the tokenizer may add after the word.
        male, female = (
            whole.ids[: find_text_positions(whole, own).stop]
            for whole, own in zip(encoded[:2], encoded[2:], strict=True)
        )
        shared = count_common_prefix(male, female)
        if len(male) != len(female):
            result.skipped.append(SkippedItem(item.id, UNEQUAL))
        elif shared == len(male):
            result.skipped.append(SkippedItem(item.id, SAME))
        else:
            questions = build_continuation_questions(male[:shared], male[shared:], female[shared:])
            result.trials.append(build_log_ratio_trial(item, template.words, questions))
    return result


def _ask_sentinel(template: SpeakerTemplate, items: Sequence[GestItem], text: Tokenizer) -> PartTrials:
    if text.sentinel is None or text.decoder_start is None:
        raise UnsupportedPart(
            "The tokenizer has no sentinel <extra_id_0>, so the model was not trained to fill blanks like T5."
        )
    result = PartTrials("seq2seq", SENTINEL)
    male, female = (encoded.ids for encoded in text.encode([template.male, template.female]))
    sources = text.encode_with_special_tokens(
        [template.fill_in_sentence(item.sentence, text.sentinel_text) for item in items]
    )
    for item, source in zip(items, sources, strict=True):
        if len(male) != len(female) or male == female:
            result.skipped.append(SkippedItem(item.id, SAME if male == female else UNEQUAL))
            continue
        # The decoder predicts the word after the sentinel.
        questions = build_continuation_questions((text.decoder_start, text.sentinel), male, female, source.ids)
        result.trials.append(build_log_ratio_trial(item, template.words, questions))
    return result


def build_choice(item: GestItem) -> Choice:
    """Return the item as a choice between "a man" and "a woman"; some wordings of the prompt use other words."""
    if item.language != "en":
        raise UnsupportedPart(
            "Chat models are asked about the speaker of English sentences only; for other languages use gest-pairs."
        )
    return Choice("speaker", item.sentence, (Option("masculine", "a man"), Option("feminine", "a woman")))


BENCHMARK = Benchmark(
    form="gest",
    protocols=PROTOCOLS,
    measures="gest",
    ask=ask,
    item_by_item=allow_splitting,
    parts=list_parts,
    perturbations=build_perturbations("gest", ("lower-case",)),
    choice=build_choice,
)
