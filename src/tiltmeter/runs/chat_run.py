"""Runs of chat models: build messages about items, collect the replies, and compute outcomes and scores."""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import pandas as pd

from tiltmeter.benchmarks import get_benchmark
from tiltmeter.benchmarks.benchmark import MessageSet, UnsupportedPart
from tiltmeter.benchmarks.forced_choice.choice_scores import ItemAnswer, compute_item_scores
from tiltmeter.benchmarks.forced_choice.context_frames import add_frames, get_frame_language
from tiltmeter.benchmarks.forced_choice.option_orders import OptionOrderDesign
from tiltmeter.benchmarks.forced_choice.prompts import Prompt, build_prompts
from tiltmeter.benchmarks.forced_choice.reply_parser import REFUSAL, UNPARSEABLE, ParsedReply, parse_reply
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.forms import Item, get_form
from tiltmeter.models.model_protocol import ChatModel
from tiltmeter.models.reply_store import ReplyStore
from tiltmeter.options import ChatOptions
from tiltmeter.progress.progress import Progress, ShowProgress
from tiltmeter.questions import ChatQuestion, Choice, Reply, SamplingOptions, Task, Tokenizer
from tiltmeter.runs.answer_table import ANSWERS_SCHEMA
from tiltmeter.runs.chat_budget import Budget, Spending
from tiltmeter.runs.chat_confirmation import REPEATED_MESSAGES, ChatConfirmation, ChatModelChanged, count_probe_requests
from tiltmeter.runs.interim_values import InterimValue, OnInterim, compute_interim_values
from tiltmeter.runs.long_items import LARGEST_SHARE, skip_long_items
from tiltmeter.runs.manifest import RefusedPart, UnscoredItem
from tiltmeter.runs.measurement_conditions import MeasurementConditions, get_answer_type
from tiltmeter.runs.model_output import ModelOutput
from tiltmeter.runs.portions import UNDIVIDED, Portion, select_measure_module
from tiltmeter.runs.run_preparation import PreparedRun
from tiltmeter.runs.score_tables import build_score_table
from tiltmeter.runs.special_token_items import split_special_items

FORCED_CHOICE, PROBABILITIES = "forced-choice", "choice-probabilities"
PROTOCOLS = {
    FORCED_CHOICE: "chat models: the option that the reply names; each item is asked in several orders and wordings",
    PROBABILITIES: "chat models: the probabilities of the options' labels as the first token of the reply",
}
# The default value of --protocol. With this value, chat models use the protocol `forced-choice`.
_DEFAULT = "published"
# A note reports truncated answers if their share is larger than this.
_CUT_OFF = 0.02
_TOO_LONG = "it is too long for the model, according to the server"
# The number of tokens that a tokenizer may add to a message, in addition to those of the chat template.
_MARGIN = 8


@dataclass(frozen=True, slots=True)
class PortionPrompts:
    """A portion (the items of one data set, part and language) with the messages about its items.

    `messages` is None if there is a separate message about each item, which asks for a choice between options.
    """

    portion: Portion
    protocol: str
    items: dict[str, Item]
    prompts: list[Prompt]
    messages: MessageSet | None = None

    @property
    def location(self) -> str:
        """The data set, part and language in the syntax of the command line."""
        return f"{self.portion.name}/{self.portion.part}:{self.portion.language}"


@dataclass(frozen=True, slots=True)
class _ChatPlan:
    """The questions for a model; `stored` are replies from the cache, `budget` estimates the cost of the other replies.

    `unconfirmed` are the digests of questions with a stored reply that no check of the model has confirmed, because the
    run was interrupted.
    """

    model: ChatModel
    run: ModelOutput
    portions: list[PortionPrompts]
    questions: dict[bytes, ChatQuestion]
    stored: dict[bytes, Reply]
    unconfirmed: set[bytes]
    budget: Budget

    @property
    def pending_questions(self) -> list[ChatQuestion]:
        """The questions without a stored reply."""
        return [question for digest, question in self.questions.items() if digest not in self.stored]


def ask_chat_models(
    models: Sequence[ChatModel],
    prepared: PreparedRun,
    store: ReplyStore,
    *,
    watch: ShowProgress,
    so_far: OnInterim,
    tell: Callable[[str], None],
    keep_open: bool = False,
) -> list[ModelOutput]:
    """Ask chat models about all portions (data set, part, language) of a run; stored replies are reused.

    The limits of requests and cost apply to all models together and are checked before the first request. Each model is
    closed when it is finished, unless `keep_open` is set.
    """
    options, sampling = _read_chat_options(prepared)
    plans = [_plan_questions(model, prepared, store) for model in models]
    for plan in plans:
        if plan.budget.requests:
            stored = f"; {len(plan.stored):,} answers are already stored" if plan.stored else ""
            tell(f"{plan.model.name} will be sent {plan.budget.words}{stored}.")
    sum((plan.budget for plan in plans), Budget.create_empty(options)).reject_exceeded_limits(options)
    cost = 0.0
    for plan in plans:
        spending = Spending(options, cost)
        replies = _collect_replies(plan, sampling, spending, store, watch, so_far)
        if not keep_open:
            plan.model.close()
        cost += spending.cost or 0.0
        _store_outcomes(plan, replies, sampling, options, spending)
    return [plan.run for plan in plans]


def _count_needed_tokens(portions: Sequence[Portion]) -> int:
    """Return the maximum length of a reply, in tokens, for portions whose items share messages; 0 if there are none."""
    shared = [(get_benchmark(portion.form).messages, portion.items) for portion in portions]
    return max((messages.count_tokens(items) for messages, items in shared if messages is not None), default=0)


def estimate_budget(model: ChatModel, prepared: PreparedRun, store: ReplyStore) -> tuple[Budget, int]:
    """Return the budget of a model's remaining requests in a run, and the number of stored replies; nothing is sent."""
    plan = _plan_questions(model, prepared, store)
    return plan.budget, len(plan.stored)


def _read_chat_options(prepared: PreparedRun) -> tuple[ChatOptions, SamplingOptions]:
    options = prepared.settings.chat or ChatOptions()
    protocol = _resolve_protocol(prepared.settings.protocol)
    return options, options.build_sampling(
        probabilities=protocol == PROBABILITIES, needed_tokens=_count_needed_tokens(prepared.chosen)
    )


def _plan_questions(model: ChatModel, prepared: PreparedRun, store: ReplyStore) -> _ChatPlan:
    options, sampling = _read_chat_options(prepared)
    protocol, perturb = _resolve_protocol(prepared.settings.protocol), prepared.settings.perturb
    return _build_plan(model, prepared.chosen, protocol, perturb, options, sampling, store)


def _build_plan(
    model: ChatModel,
    portions: Sequence[Portion],
    protocol: str,
    perturb: str | None,
    options: ChatOptions,
    sampling: SamplingOptions,
    store: ReplyStore,
) -> _ChatPlan:
    run = ModelOutput()
    entries = [
        _skip_long_items(_skip_special_tokens(entry, model, run), model, run, sampling)
        for entry in build_portion_prompts(
            *(run, model.name, portions, protocol, perturb, options, sampling),
            continues_texts=getattr(model, "continues_texts", False),
        )
    ]
    questions = {prompt.question.digest: prompt.question for entry in entries for prompt in entry.prompts}
    fingerprint = model.chat_fingerprint(sampling)
    unconfirmed = store.get(_format_unconfirmed_key(fingerprint), questions)
    stored = {**unconfirmed, **store.get(fingerprint, questions)}
    pending = [question for digest, question in questions.items() if digest not in stored]
    probes = min(REPEATED_MESSAGES, len(unconfirmed))
    if getattr(model, "can_change", False):
        probes += count_probe_requests(len(pending), sampling)
    budget = Budget.estimate(model, pending, sampling, options, probes=probes)
    return _ChatPlan(model, run, entries, questions, stored, set(unconfirmed), budget)


def _format_unconfirmed_key(fingerprint: str) -> str:
    """Return the key under which the store lists the replies of this model that were not checked yet."""
    return f"{fingerprint} unconfirmed"


def _collect_replies(
    plan: _ChatPlan,
    sampling: SamplingOptions,
    spending: Spending,
    store: ReplyStore,
    watch: ShowProgress,
    so_far: OnInterim,
) -> dict[bytes, Reply]:
    """Return the replies to all questions; new replies are stored at once and checked after each window of messages."""
    fingerprint = plan.model.chat_fingerprint(sampling)
    confirmation = ChatConfirmation(plan.model, sampling, spending, plan.stored.values())
    key = _format_unconfirmed_key(fingerprint) if confirmation.is_needed else fingerprint
    replies = dict(plan.stored)
    with watch(f"{plan.model.name} (chat)") as report:
        report(Progress(len(replies), len(plan.questions)))
        _confirm_stored_replies(plan, confirmation, fingerprint, store)
        for window in confirmation.split_into_windows(plan.pending_questions):
            new: list[bytes] = []
            for index, reply in plan.model.stream_replies(window, sampling):
                digest = window[index].digest
                if reply.too_long:
                    _skip_too_long_messages(plan, digest, reply)
                    continue
                confirmation.check_name(reply)
                store.put(key, digest, reply)
                new.append(digest)
                replies[digest] = reply
                spending.add_reply(reply, plan.model, window[index].prompt)
                report(Progress(len(replies), len(plan.questions)))
                so_far(lambda: _compute_interim_values(plan, replies, sampling))
            if confirmation.is_needed and new:
                with _discard_on_change(store, key, new):
                    confirmation.confirm_replies(replies, len(new))
                store.confirm_replies(key, fingerprint, new)
    if confirmation.is_needed:
        plan.run.model["confirmation"] = confirmation.describe()
    return replies


def _confirm_stored_replies(
    plan: _ChatPlan, confirmation: ChatConfirmation, fingerprint: str, store: ReplyStore
) -> None:
    """Check the stored replies of an interrupted run that were not checked; delete them if the model has changed."""
    if not plan.unconfirmed:
        return
    known = {plan.questions[digest]: plan.stored[digest] for digest in plan.unconfirmed}
    with _discard_on_change(store, _format_unconfirmed_key(fingerprint), plan.unconfirmed):
        confirmation.confirm_known_replies(confirmation.draw_sample(known), len(known))
    store.confirm_replies(_format_unconfirmed_key(fingerprint), fingerprint, plan.unconfirmed)


@contextmanager
def _discard_on_change(store: ReplyStore, key: str, questions: Collection[bytes]) -> Iterator[None]:
    """Delete the replies to these questions if the code in the `with` block finds that the server changed its model."""
    try:
        yield
    except ChatModelChanged:
        store.delete(key, questions)
        raise


def _skip_too_long_messages(plan: _ChatPlan, digest: bytes, reply: Reply) -> None:
    """Remove the items of a question that is too long for the server; raise a ModelError if too many are removed."""
    for place, entry in enumerate(plan.portions):
        too_long = {prompt.item for prompt in entry.prompts if prompt.question.digest == digest}
        if not too_long:
            continue
        plan.portions[place] = _remove_items(entry, too_long)
        names = {"model": plan.model.name, **entry.portion.get_key_columns()}
        plan.run.skipped += [UnscoredItem(**names, item=item, reason=_TOO_LONG) for item in sorted(too_long)]
        count = sum(skip == UnscoredItem(**names, item=skip.item, reason=_TOO_LONG) for skip in plan.run.skipped)
        if count > LARGEST_SHARE * len(entry.portion.items):
            raise ModelError(
                f"Item {min(too_long)} of {entry.location} is too long for {plan.model.name} ({reply.too_long}), and "
                f"more than {LARGEST_SHARE:.0%} of the items would be skipped. Lower --max-tokens, or remove the "
                "longest items; answers so far are stored."
            )


def _remove_items(entry: PortionPrompts, removed: Collection[str]) -> PortionPrompts:
    return replace(
        entry,
        items={name: item for name, item in entry.items.items() if name not in removed},
        prompts=[prompt for prompt in entry.prompts if prompt.item not in removed],
    )


def _compute_interim_values(
    plan: _ChatPlan, replies: dict[bytes, Reply], sampling: SamplingOptions
) -> list[InterimValue]:
    """Return the interim values, computed from the items for which all messages have replies."""
    tables = []
    for entry in plan.portions:
        pending = {prompt.item for prompt in entry.prompts if prompt.question.digest not in replies}
        prompts = [prompt for prompt in entry.prompts if prompt.item not in pending]
        if prompts:
            tables.append(build_reply_tables(plan.model.name, replace(entry, prompts=prompts), replies, sampling)[1])
    modules = {entry.portion.name: select_measure_module(entry.portion, is_chat=True) for entry in plan.portions}
    return compute_interim_values(pd.concat(tables, ignore_index=True), modules) if tables else []


def _store_outcomes(
    plan: _ChatPlan, replies: dict[bytes, Reply], sampling: SamplingOptions, options: ChatOptions, spending: Spending
) -> None:
    """Add scores, answers, notes and the model's description to the model's output."""
    model, run = plan.model, plan.run
    for entry in plan.portions:
        table, scores = build_reply_tables(model.name, entry, replies, sampling)
        run.answers.append(table)
        run.scores.append(scores)
        run.notes += _note_missing_choices(model.name, entry, table)
        run.notes += _note_truncated_answers(entry, table, replies, sampling)
        run.conditions.append(
            MeasurementConditions(
                model=model.name,
                **entry.portion.get_key_columns(),
                protocol=entry.protocol,
                family=get_answer_type("chat"),
                kind="chat",
                tokenizer=None,
                unknown=0,
                items=len(entry.items),
                zero=0,
            )
        )
    # The model names in all replies, including stored replies.
    names = sorted({reply.model for reply in replies.values()} - {""})
    if len(names) > 1:
        run.notes.append(
            f"The replies of {model.name} come from several models: {', '.join(names)}. To repeat the run with one "
            "model, set TILTMETER_CACHE to another folder."
        )
    run.model |= {
        "name": model.name,
        **model.describe(),
        **({"called": names} if names else {}),
        "design": "full" if options.full else "default",
        "temperature": sampling.temperature,
        "samples": options.samples,
        **({"frames": list(options.frames)} if options.frames else {}),
        "max_tokens": sampling.max_tokens,
        "asked": len(plan.pending_questions),
        "stored": len(plan.stored),
        **spending.to_dict(),
        "answers": {"chat": model.chat_fingerprint(sampling)},
    }


def _note_missing_choices(model: str, entry: PortionPrompts, table: pd.DataFrame) -> Iterator[str]:
    """Yield a note if all answers about a portion (data set, part, language) are refusals or name no option."""
    if not table["outcome"].isin([REFUSAL.outcome, UNPARSEABLE.outcome]).all():
        return
    refusals = 100 * float((table["outcome"] == REFUSAL.outcome).mean())
    yield (
        f"{model} chose no option in {len(table):,} answers about {entry.location} ({refusals:.0f}% refusals), so the "
        "bias of the model is unknown."
    )


def _note_truncated_answers(
    entry: PortionPrompts, table: pd.DataFrame, replies: dict[bytes, Reply], sampling: SamplingOptions
) -> Iterator[str]:
    """Yield a note if too many answers were cut off before a choice could be found."""
    cut = np.array([replies[prompt.question.digest].cut for prompt in entry.prompts])
    lost = int((cut & (table["outcome"] == UNPARSEABLE.outcome).to_numpy()).sum())
    if lost > _CUT_OFF * len(table):
        yield (
            f"{lost:,} of {len(table):,} answers about {entry.location} were cut off at --max-tokens "
            f"{sampling.max_tokens} before a choice was found; raise the limit."
        )


def _resolve_protocol(protocol: str) -> str:
    if protocol in (_DEFAULT, *PROTOCOLS):
        return FORCED_CHOICE if protocol == _DEFAULT else protocol
    raise UsageError(f"Chat models do not support the protocol {protocol!r}; choose {' or '.join(PROTOCOLS)}.")


def build_portion_prompts(
    run: ModelOutput,
    model: str,
    portions: Sequence[Portion],
    protocol: str,
    perturb: str | None,
    options: ChatOptions,
    sampling: SamplingOptions,
    *,
    continues_texts: bool = False,
) -> Iterator[PortionPrompts]:
    """Yield the portions (data set, part, language) with their messages; record unsupported portions in `run`.

    `continues_texts` says that the model is a base model, which continues texts instead of following instructions.
    """
    for portion in portions:
        try:
            choices = _build_choices(portion, protocol)
            messages = _select_messages(portion, model, continues_texts)
        except UnsupportedPart as refusal:
            run.refused.append(RefusedPart(model, **portion.get_key_columns(), reason=str(refusal)))
            continue
        prompts: list[Prompt] = []
        items: dict[str, Item] = {}
        design = OptionOrderDesign(options.full)
        for item, choice in choices:
            if (reason := _explain_unusable_choice(choice)) is not None:
                run.skipped.append(UnscoredItem(model, **portion.get_key_columns(), item=item.id, reason=reason))
                continue
            items[item.id] = item
            if messages is None:
                prompts += build_prompts(item.id, portion.language, choice, design, options.samples)
        if messages is not None:
            prompts = messages.build(list(items.values()), portion.language, design, options.samples)
        if not prompts:
            continue
        suffixes = [perturb or "", options.describe_design(sampling)]
        if prompts[0].language != portion.language:
            suffixes.append("instructions in English")
            location = f"{portion.name}/{portion.part}:{portion.language}"
            run.notes.append(
                f"{location} was asked with English instructions, because Tiltmeter has none in this language."
            )
        if options.frames:
            prompts = add_frames(prompts, options.frames, portion.language)
            is_translated = get_frame_language(portion.language) == portion.language
            suffixes.append("" if is_translated else "frame in English")
        suffix = ", ".join(filter(None, suffixes))
        name = (messages.protocol if messages is not None else "") or protocol
        yield PortionPrompts(portion, f"{name}/{suffix}" if suffix else name, items, prompts, messages)


def _select_messages(portion: Portion, model: str, continues_texts: bool) -> MessageSet | None:
    """Return the messages that several items share, or that ask for a text; None for a message about each item."""
    benchmark = get_benchmark(portion.form)
    if not continues_texts:
        return benchmark.messages
    if benchmark.continuations is None:
        raise UnsupportedPart(
            f"{model} continues texts, which items of the form {portion.form} do not have; omit `completion:` to "
            "measure its likelihoods, or measure a chat model."
        )
    return benchmark.continuations


def _skip_special_tokens(entry: PortionPrompts, model: ChatModel, run: ModelOutput) -> PortionPrompts:
    """Return the portion without the items that contain a local model's special token; record these items in `run`."""
    text: Tokenizer | None = getattr(model, "text", None)  # None for a server, which has its own tokenizer
    if text is None:
        return entry
    _, skipped = split_special_items(list(entry.items.values()), entry.portion.form, text)
    run.skipped += [UnscoredItem(model.name, **entry.portion.get_key_columns(), **skip._asdict()) for skip in skipped]
    return _remove_items(entry, {skip.item for skip in skipped})


def _skip_long_items(
    entry: PortionPrompts, model: ChatModel, run: ModelOutput, sampling: SamplingOptions
) -> PortionPrompts:
    """Return the portion without the items that are too long for a local model; record these items in `run`."""
    longest_message: Callable[[SamplingOptions], int | None] | None = getattr(model, "compute_message_limit", None)
    longest = longest_message(sampling) if longest_message else None
    if longest is None:
        return entry
    lengths: dict[str, int] = {}
    # A text has at most as many tokens as bytes, plus the tokens of the template. A message with few bytes is therefore
    # short enough and need not be tokenized.
    surely_short = longest - model.tokens("A") - _MARGIN
    for prompt in entry.prompts:
        text = prompt.question.prompt
        if len(text.encode()) > surely_short:
            lengths[prompt.item] = max(model.tokens(text), lengths.get(prompt.item, 0))
    skipped = skip_long_items(lengths, longest, entry.portion, model.name, remedy="lower --max-tokens")
    run.skipped += [UnscoredItem(model.name, **entry.portion.get_key_columns(), **skip._asdict()) for skip in skipped]
    return _remove_items(entry, {skip.item for skip in skipped})


def _build_choices(portion: Portion, protocol: str) -> list[tuple[Item, Choice]]:
    make = get_benchmark(portion.form).choice
    messages = get_benchmark(portion.form).messages
    if protocol == PROBABILITIES and messages is not None:
        raise UnsupportedPart(
            f"A reply about items of the form {portion.form} is a list or text, whose first token chooses no option; "
            f"use --protocol {FORCED_CHOICE}."
        )
    if messages is not None and not messages.has_options:
        return [(item, Choice("question", "", ())) for item in portion.items]
    if make is None:
        raise UnsupportedPart(
            f"Items of the form {portion.form} have no options, so chat models cannot be asked about them."
        )
    if portion.part != UNDIVIDED and get_form(portion.form).part_of(portion.items[0]) is None:
        raise UnsupportedPart(
            f"The part {portion.part} applies only to likelihoods; for a chat model use {portion.name} without a part."
        )
    choices = [(item, make(item)) for item in portion.items]
    for _, choice in choices:
        if choice.task not in get_args(Task):
            raise UnsupportedPart(
                f"The benchmark of these items has the unknown task {choice.task!r}; Tiltmeter has instructions for "
                f"{', '.join(get_args(Task))}."
            )
    return choices


def _explain_unusable_choice(choice: Choice) -> str | None:
    """Return the reason why a chat model cannot be asked about an item; None if it can be asked."""
    texts = [option.text.strip().casefold() for option in choice.options]
    if not all(texts):
        return "one of its options is empty"
    return "two of its options have the same text" if len(set(texts)) < len(texts) else None


def build_reply_tables(
    model: str, entry: PortionPrompts, replies: dict[bytes, Reply], sampling: SamplingOptions
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return two tables of a portion (data set, part, language): the answers and the scores."""
    rows: list[dict[str, Any]] = []
    by_item: dict[str, list[ItemAnswer]] = {}
    messages = entry.messages
    parse = _parse_choice if messages is None else messages.parse
    answered: list[tuple[Prompt, ItemAnswer]] = []
    for prompt in entry.prompts:
        reply = replies[prompt.question.digest]
        answer, outcome = _read_reply(prompt, reply, entry.portion.language, sampling, parse)
        by_item.setdefault(prompt.item, []).append(answer)
        answered.append((prompt, answer))
        rows.append(
            {
                "model": model,
                **entry.portion.get_key_columns(),
                "protocol": entry.protocol,
                "item": prompt.item,
                "wording": prompt.arrangement.wording + 1,
                "order": ", ".join(option.role for option in prompt.options),
                "neutral": prompt.arrangement.neutral,
                "sample": prompt.question.sample + 1,
                "outcome": outcome,
                "shares": list(answer.shares),
                "reply": _format_shares(prompt.question, answer) if sampling.probabilities else reply.text,
                "thinking": reply.thinking,
            }
        )
    has_options = messages is None or messages.has_options
    choices = by_item if has_options else {}
    scored = [(item, *score) for item, answers in choices.items() for score in compute_item_scores(answers)]
    if messages is not None:
        scored += messages.score(answered)
    rows_of_scores = ((entry.items[item], role, role, score) for item, role, score in scored)
    scores = build_score_table(model, entry.portion, entry.protocol, rows_of_scores)
    return pd.DataFrame(rows, columns=ANSWERS_SCHEMA.names), scores


def _parse_choice(prompt: Prompt, reply: str, language: str) -> ParsedReply:
    return parse_reply(reply, [option.text for option in prompt.options], prompt.question.labels, language)


def _read_reply(
    prompt: Prompt,
    reply: Reply,
    language: str,
    sampling: SamplingOptions,
    parse: Callable[[Prompt, str, str], ParsedReply],
) -> tuple[ItemAnswer, str]:
    """Return the answer and its outcome. The outcome is the role of the chosen option, "refusal" or "unparseable"."""
    roles = tuple(option.role for option in prompt.options)
    if sampling.probabilities and reply.refused:
        return ItemAnswer(prompt.arrangement, roles, (0.0,) * len(roles), True), REFUSAL.outcome
    if sampling.probabilities:
        shares = compute_label_shares(prompt.question.labels, reply)
        best = max(range(len(shares)), key=shares.__getitem__)
        outcome = roles[best] if shares[best] > 0 else "unparseable"
        return ItemAnswer(prompt.arrangement, roles, shares), outcome
    parsed = REFUSAL if reply.refused else parse(prompt, reply.text, language)
    shares = tuple(float(place == parsed.place) for place in range(len(roles)))
    answer = ItemAnswer(prompt.arrangement, roles, shares, parsed.outcome == "refusal", reply.text)
    return answer, parsed.outcome if parsed.place is None else roles[parsed.place]


def compute_label_shares(labels: Sequence[str], reply: Reply) -> tuple[float, ...]:
    """Return the probability of each label as the first token, which may have spaces or punctuation around the label.

    >>> reply = Reply("", first_tokens=((" A", math.log(0.5)), ("A", math.log(0.125)), ("B", math.log(0.25))))
    >>> compute_label_shares(["A", "B"], reply)
    (0.625, 0.25)
    """
    shares = dict.fromkeys(labels, 0.0)
    for token, log_probability in reply.first_tokens:
        label = token.strip(" \t\n▁ĠĊ").strip("()[]*\"'.:")
        if label in shares:
            shares[label] += math.exp(log_probability)
    total = max(1.0, sum(shares.values()))  # because of rounding, the sum may exceed 1
    return tuple(share / total for share in shares.values())


def _format_shares(question: ChatQuestion, answer: ItemAnswer) -> str:
    return ", ".join(f"{label} {share:.3f}" for label, share in zip(question.labels, answer.shares, strict=True))
