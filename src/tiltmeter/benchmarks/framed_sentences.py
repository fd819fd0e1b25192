"""GEST sentences in frames: texts that quote a sentence and name its speaker, in the language of the sentence.

The score is ln P(frame for a man) - ln P(frame for a woman). Both terms are sums over tokens, so the score does not
depend on how the tokenizer divides the words. All sentences of a language have the same two frames. If one frame is
more frequent or longer than the other, all scores shift equally, and g_s does not change.

- Causal models: the sum is over the tokens after the common beginning of both texts, including the final full stop.
  Without the full stop, *řekl* would also count as the beginning of *řekla*.
- Masked models: the sum is over the tokens of the differing words, which are all masked and then revealed from left to
  right. If each word has one token, this is the comparison at one mask in the GEST paper.
"""

from collections.abc import Sequence

from tiltmeter.benchmarks.benchmark import PartTrials, SkippedItem, UnsupportedPart
from tiltmeter.benchmarks.gender_log_ratios import (
    SAME,
    build_continuation_questions,
    build_log_ratio_trial,
    require_mask,
)
from tiltmeter.benchmarks.token_alignment import find_text_positions, find_tokens_between
from tiltmeter.forms.frames import FrameWords, find_differing_words
from tiltmeter.forms.gest import GestItem
from tiltmeter.questions import EncodedText, Question, Tokenizer, count_common_prefix

FRAMED = "frames"
BEFORE = "the frames name the speaker before the sentence, which a causal model has not read at that point"
NO_FRAME = "the item has no frames"


def ask_framed_sentences(items: Sequence[GestItem], text: Tokenizer) -> PartTrials:
    """Return questions that compare the two frames of each sentence, for a masked or causal model."""
    if text.kind == "seq2seq":
        raise UnsupportedPart("No protocol scores frames with encoder-decoders; use a masked or causal model.")
    result = PartTrials(text.kind, FRAMED)
    result.skipped += [SkippedItem(item.id, NO_FRAME) for item in items if not item.male_frame]
    framed = [(item, _fill_frames(item)) for item in items if item.male_frame]
    if text.kind == "causal":
        _ask_causal(result, framed, text)
    else:
        _ask_masked(result, framed, text)
    return result


def _fill_frames(item: GestItem) -> FrameWords:
    return find_differing_words(item.male_frame, item.female_frame).fill(item.sentence)


def _ask_causal(result: PartTrials, framed: Sequence[tuple[GestItem, FrameWords]], text: Tokenizer) -> None:
    readable = [(item, words) for item, words in framed if item.sentence in words.before]
    result.skipped += [SkippedItem(item.id, BEFORE) for item, words in framed if item.sentence not in words.before]
    texts = _list_gendered_texts([words for _, words in readable])
    wholes = [text.encode_with_special_tokens(wordings) for wordings in texts]
    alone = [text.encode(wordings) for wordings in texts]
    for (item, words), *encoded in zip(readable, *wholes, *alone, strict=True):
        # Drop an end-of-text token that the tokenizer may add.
        male, female = (
            whole.ids[: find_text_positions(whole, own).stop]
            for whole, own in zip(encoded[:2], encoded[2:], strict=True)
        )
        shared = count_common_prefix(male, female)
        if shared in (0, len(male), len(female)):
            result.skipped.append(SkippedItem(item.id, SAME))
            continue
        questions = build_continuation_questions(male[:shared], male[shared:], female[shared:])
        result.trials.append(build_log_ratio_trial(item, _format_words(words), questions, whole=len(questions) == 2))


def _ask_masked(result: PartTrials, framed: Sequence[tuple[GestItem, FrameWords]], text: Tokenizer) -> None:
    mask = require_mask(text)
    if not text.has_offsets:
        raise UnsupportedPart("Frames need a fast tokenizer, which reports the character positions of tokens.")
    encoded = [
        text.encode_with_special_tokens(texts, offsets=True)
        for texts in _list_gendered_texts([words for _, words in framed])
    ]
    for (item, words), male, female in zip(framed, *encoded, strict=True):
        start = len(words.before)
        steps = [
            _build_stepwise_questions(whole, *find_tokens_between(whole, start, start + len(word)), mask)
            for whole, word in ((male, words.male), (female, words.female))
        ]
        if male.ids == female.ids or not all(steps):
            result.skipped.append(SkippedItem(item.id, SAME))
        else:
            male_steps, female_steps = steps
            questions = (*male_steps, *female_steps)
            trial = build_log_ratio_trial(item, _format_words(words), questions, whole=True, first=len(male_steps))
            result.trials.append(trial)


def _build_stepwise_questions(whole: EncodedText, first: int, last: int, mask: int) -> tuple[Question, ...]:
    """Return a question for each token index in [first, last); the tokens from this index up to `last` are masked."""
    return tuple(
        Question((*whole.ids[:index], *(mask,) * (last - index), *whole.ids[last:]), ((index, whole.ids[index]),))
        for index in range(first, last)
    )


def _list_gendered_texts(framed: Sequence[FrameWords]) -> tuple[list[str], list[str]]:
    return (
        [f"{words.before}{words.male}{words.after}" for words in framed],
        [f"{words.before}{words.female}{words.after}" for words in framed],
    )


def _format_words(words: FrameWords) -> str:
    return f"{words.male}/{words.female}"
