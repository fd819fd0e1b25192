"""Chat models in a run: from portions to messages, replies, outcomes and scores."""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import pandas as pd

from tiltmeter.benchmarks import benchmark_for
from tiltmeter.benchmarks.benchmark import CannotAsk
from tiltmeter.benchmarks.choosing.design import Design
from tiltmeter.benchmarks.choosing.parsing import REFUSAL, UNPARSEABLE, parse
from tiltmeter.benchmarks.choosing.prompts import Prompt, prompts_for
from tiltmeter.benchmarks.choosing.shares import ItemAnswer, item_scores
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.forms import Item, form_named
from tiltmeter.models.protocol import ChatModel
from tiltmeter.models.reply_store import ReplyStore
from tiltmeter.options import ChatOptions
from tiltmeter.progress.progress import Progress, ShowProgress
from tiltmeter.questions import ChatQuestion, Choice, Reply, Sampling, Task, Text
from tiltmeter.runs.answer_table import ANSWERS_SCHEMA
from tiltmeter.runs.asking import Asking, family_of
from tiltmeter.runs.budget import Budget, Spending
from tiltmeter.runs.chat_confirmation import AGAIN, ChangedChat, ChatConfirmation, probe_requests
from tiltmeter.runs.long_items import LARGEST_SHARE, long_items
from tiltmeter.runs.manifest import RefusedPart, SkippedItem
from tiltmeter.runs.model_run import ModelRun
from tiltmeter.runs.portions import UNDIVIDED, Portion, measures_of
from tiltmeter.runs.preparing import PreparedRun
from tiltmeter.runs.score_tables import score_table
from tiltmeter.runs.so_far import SoFar, ValueSoFar, values_so_far
from tiltmeter.runs.special_texts import without_special

FORCED_CHOICE, PROBABILITIES = "forced-choice", "choice-probabilities"
PROTOCOLS = {
    FORCED_CHOICE: "chat models: which option their reply names, in several orders and wordings",
    PROBABILITIES: "chat models: the probabilities of the options' labels as the first token of the reply",
}
# What a run of language models asks for by default.
_DEFAULT = "published"
# A note says how many answers were cut off, if they are more than this share.
_CUT_OFF = 0.02
_TOO_LONG = "the server says that it is too long for the model"
# Tokens that a tokenizer may add to a message besides its template.
_MARGIN = 8


@dataclass(frozen=True, slots=True)
class _Asked:
    """A portion with the messages about its items."""

    portion: Portion
    protocol: str
    items: dict[str, Item]
    prompts: list[Prompt]

    @property
    def location(self) -> str:
        """The data set, part and language in a few words."""
        return f"{self.portion.name}/{self.portion.part}:{self.portion.language}"


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a model is to be asked: `stored` are replies from before, `budget` is what the others take.

    `unconfirmed` are those of `stored` that a run left behind before it could confirm the model (digests).
    """

    model: ChatModel
    run: ModelRun
    asked: list[_Asked]
    questions: dict[bytes, ChatQuestion]
    stored: dict[bytes, Reply]
    unconfirmed: set[bytes]
    budget: Budget

    @property
    def pending(self) -> list[ChatQuestion]:
        """The questions without a stored reply."""
        return [question for digest, question in self.questions.items() if digest not in self.stored]


def ask_chats(
    models: Sequence[ChatModel],
    prepared: PreparedRun,
    store: ReplyStore,
    *,
    watch: ShowProgress,
    so_far: SoFar,
    tell: Callable[[str], None],
    keep_open: bool = False,
) -> list[ModelRun]:
    """Ask chat models about all portions of a run. Replies that are stored are not asked for again.

    The limits of the run's settings are for all models together, and are checked before the first request. A model is
    closed when it is finished, unless it is to be kept open.
    """
    protocol, options = _known(prepared.settings.protocol), prepared.settings.chat or ChatOptions()
    sampling = options.sampling(probabilities=protocol == PROBABILITIES)
    perturb = prepared.settings.perturb
    plans = [_plan(model, prepared.chosen, protocol, perturb, options, sampling, store) for model in models]
    for plan in plans:
        if plan.budget.requests:
            stored = f"; {len(plan.stored):,} answers are stored" if plan.stored else ""
            tell(f"{plan.model.name}: {plan.budget.words}{stored}.")
    sum((plan.budget for plan in plans), Budget.none(options)).refuse_beyond(options)
    cost = 0.0
    for plan in plans:
        spending = Spending(options, cost)
        replies = _replies(plan, sampling, spending, store, watch, so_far)
        if not keep_open:
            plan.model.close()
        cost += spending.cost or 0.0
        _enter(plan, replies, sampling, options, spending)
    return [plan.run for plan in plans]


def _plan(
    model: ChatModel,
    portions: Sequence[Portion],
    protocol: str,
    perturb: str | None,
    options: ChatOptions,
    sampling: Sampling,
    store: ReplyStore,
) -> _Plan:
    run = ModelRun()
    asked = [
        _without_long(_without_special(entry, model, run), model, run, sampling)
        for entry in _asked(run, model.name, portions, protocol, perturb, options, sampling)
    ]
    questions = {prompt.question.digest: prompt.question for entry in asked for prompt in entry.prompts}
    fingerprint = model.chat_fingerprint(sampling)
    unconfirmed = store.get(_unconfirmed(fingerprint), questions)
    stored = {**unconfirmed, **store.get(fingerprint, questions)}
    pending = [question for digest, question in questions.items() if digest not in stored]
    probes = min(AGAIN, len(unconfirmed))
    if getattr(model, "can_change", False):
        probes += probe_requests(len(pending), sampling)
    budget = Budget.of(model, pending, sampling, options, probes=probes)
    return _Plan(model, run, asked, questions, stored, set(unconfirmed), budget)


def _unconfirmed(fingerprint: str) -> str:
    """The key of replies of a model that is not confirmed yet."""
    return f"{fingerprint} unconfirmed"


def _replies(
    plan: _Plan, sampling: Sampling, spending: Spending, store: ReplyStore, watch: ShowProgress, so_far: SoFar
) -> dict[bytes, Reply]:
    """The replies to all questions of a model; new ones are stored as they come, and confirmed window by window."""
    fingerprint = plan.model.chat_fingerprint(sampling)
    confirmation = ChatConfirmation(plan.model, sampling, spending, plan.stored.values())
    key = _unconfirmed(fingerprint) if confirmation.is_needed else fingerprint
    replies = dict(plan.stored)
    with watch(f"{plan.model.name} (chat)") as report:
        report(Progress(len(replies), len(plan.questions)))
        _settle(plan, confirmation, fingerprint, store)
        for window in confirmation.windows(plan.pending):
            new: list[bytes] = []
            for index, reply in plan.model.replies(window, sampling):
                digest = window[index].digest
                if reply.too_long:
                    _leave_out_too_long(plan, digest, reply)
                    continue
                confirmation.check_name(reply)
                store.put(key, digest, reply)
                new.append(digest)
                replies[digest] = reply
                spending.add(reply, plan.model, window[index].prompt)
                report(Progress(len(replies), len(plan.questions)))
                so_far(lambda: _replied_so_far(plan, replies, sampling))
            if confirmation.is_needed and new:
                with _discarding(store, key, new):
                    confirmation.confirm(replies, len(new))
                store.confirm(key, fingerprint, new)
    if confirmation.is_needed:
        plan.run.model["confirmation"] = confirmation.describe()
    return replies


def _settle(plan: _Plan, confirmation: ChatConfirmation, fingerprint: str, store: ReplyStore) -> None:
    """Confirm replies that an earlier run left behind; if they are another model's, they are deleted."""
    if not plan.unconfirmed:
        return
    known = {plan.questions[digest]: plan.stored[digest] for digest in plan.unconfirmed}
    with _discarding(store, _unconfirmed(fingerprint), plan.unconfirmed):
        confirmation.compare(confirmation.sample(known), len(known))
    store.confirm(_unconfirmed(fingerprint), fingerprint, plan.unconfirmed)


@contextmanager
def _discarding(store: ReplyStore, key: str, questions: Collection[bytes]) -> Iterator[None]:
    """Delete these replies if the server turns out to have changed its model."""
    try:
        yield
    except ChangedChat:
        store.delete(key, questions)
        raise


def _leave_out_too_long(plan: _Plan, digest: bytes, reply: Reply) -> None:
    """Take the items that a server finds too long out of the plan; a ModelError if they become too many."""
    for place, entry in enumerate(plan.asked):
        left_out = {prompt.item for prompt in entry.prompts if prompt.question.digest == digest}
        if not left_out:
            continue
        plan.asked[place] = _without(entry, left_out)
        names = {"model": plan.model.name, **entry.portion.label()}
        plan.run.skipped += [SkippedItem(**names, item=item, reason=_TOO_LONG) for item in sorted(left_out)]
        all_left_out = sum(skip == SkippedItem(**names, item=skip.item, reason=_TOO_LONG) for skip in plan.run.skipped)
        if all_left_out > LARGEST_SHARE * len(entry.portion.items):
            raise ModelError(
                f"Item {min(left_out)} of {entry.location} is too long for {plan.model.name} ({reply.too_long}), and "
                f"more than {LARGEST_SHARE:.0%} of the items would have to be left out. Lower --max-tokens, or leave "
                "the longest items out; answers so far are kept."
            )


def _without(entry: _Asked, left_out: Collection[str]) -> _Asked:
    """A portion without some of its items."""
    return replace(
        entry,
        items={name: item for name, item in entry.items.items() if name not in left_out},
        prompts=[prompt for prompt in entry.prompts if prompt.item not in left_out],
    )


def _replied_so_far(plan: _Plan, replies: dict[bytes, Reply], sampling: Sampling) -> list[ValueSoFar]:
    """The values of the items about which all messages are answered."""
    tables = []
    for entry in plan.asked:
        open_items = {prompt.item for prompt in entry.prompts if prompt.question.digest not in replies}
        prompts = [prompt for prompt in entry.prompts if prompt.item not in open_items]
        if prompts:
            tables.append(_outcomes(plan.model.name, replace(entry, prompts=prompts), replies, sampling)[1])
    families = {entry.portion.name: measures_of(entry.portion, chatting=True) for entry in plan.asked}
    return values_so_far(pd.concat(tables, ignore_index=True), families) if tables else []


def _enter(
    plan: _Plan, replies: dict[bytes, Reply], sampling: Sampling, options: ChatOptions, spending: Spending
) -> None:
    """Enter what the replies come to into the model's run."""
    model, run = plan.model, plan.run
    for entry in plan.asked:
        table, scores = _outcomes(model.name, entry, replies, sampling)
        run.answers.append(table)
        run.scores.append(scores)
        run.notes += _no_choice(model.name, entry, table)
        run.notes += _cut_off(entry, table, replies, sampling)
        run.askings.append(
            Asking(
                model=model.name,
                **entry.portion.label(),
                protocol=entry.protocol,
                family=family_of("chat"),
                kind="chat",
                tokenizer=None,
                unknown=0,
                items=len(entry.items),
                zero=0,
            )
        )
    # What servers call the model: in replies that were stored before as well.
    called = sorted({reply.model for reply in replies.values()} - {""})
    if len(called) > 1:
        run.notes.append(
            f"The replies of {model.name} are by several models: {', '.join(called)}. To ask one of them everything, "
            "set TILTMETER_CACHE to another folder."
        )
    run.model |= {
        "name": model.name,
        **model.describe(),
        **({"called": called} if called else {}),
        "design": "full" if options.full else "default",
        "temperature": sampling.temperature,
        "samples": options.samples,
        "max_tokens": sampling.max_tokens,
        "asked": len(plan.pending),
        "stored": len(plan.stored),
        **spending.to_dict(),
        "answers": {"chat": model.chat_fingerprint(sampling)},
    }


def _no_choice(model: str, entry: _Asked, table: pd.DataFrame) -> Iterator[str]:
    """A note on a portion that nothing can be said about."""
    if not table["outcome"].isin([REFUSAL.kind, UNPARSEABLE.kind]).all():
        return
    refusals = 100 * float((table["outcome"] == REFUSAL.kind).mean())
    yield (
        f"{model} chose no option in any of {len(table):,} answers about {entry.location} ({refusals:.0f}% are "
        "refusals), so nothing can be said about its bias."
    )


def _cut_off(entry: _Asked, table: pd.DataFrame, replies: dict[bytes, Reply], sampling: Sampling) -> Iterator[str]:
    """A note on answers that were longer than allowed, so that no choice could be read in them."""
    cut = np.array([replies[prompt.question.digest].cut for prompt in entry.prompts])
    lost = int((cut & (table["outcome"] == UNPARSEABLE.kind).to_numpy()).sum())
    if lost > _CUT_OFF * len(table):
        yield (
            f"{lost:,} of {len(table):,} answers about {entry.location} were cut off at --max-tokens "
            f"{sampling.max_tokens} before a choice could be read; raise it."
        )


def _known(protocol: str) -> str:
    if protocol in (_DEFAULT, *PROTOCOLS):
        return FORCED_CHOICE if protocol == _DEFAULT else protocol
    raise UsageError(f"Chat models are not asked by the protocol {protocol!r}; there is {', '.join(PROTOCOLS)}.")


def _asked(
    run: ModelRun,
    model: str,
    portions: Sequence[Portion],
    protocol: str,
    perturb: str | None,
    options: ChatOptions,
    sampling: Sampling,
) -> Iterator[_Asked]:
    """The portions with their messages; those that cannot be asked are entered into the run."""
    for portion in portions:
        try:
            choices = _choices(portion)
        except CannotAsk as refusal:
            run.refused.append(RefusedPart(model, **portion.label(), reason=str(refusal)))
            continue
        prompts: list[Prompt] = []
        items: dict[str, Item] = {}
        for item, choice in choices:
            if (reason := _unfit(choice)) is not None:
                run.skipped.append(SkippedItem(model, **portion.label(), item=item.id, reason=reason))
                continue
            items[item.id] = item
            prompts += prompts_for(item.id, portion.language, choice, Design(options.full), options.samples)
        if not prompts:
            continue
        case = [perturb or "", options.case(sampling)]
        if prompts[0].language != portion.language:
            case.append("instructions in English")
            location = f"{portion.name}/{portion.part}:{portion.language}"
            run.notes.append(f"{location} was asked in English: there are no instructions in its language yet.")
        told = ", ".join(filter(None, case))
        yield _Asked(portion, f"{protocol}/{told}" if told else protocol, items, prompts)


def _without_special(entry: _Asked, model: ChatModel, run: ModelRun) -> _Asked:
    """The portion without the items that spell a special token of a model on this machine."""
    text: Text | None = getattr(model, "text", None)  # a server tokenizes by itself
    if text is None:
        return entry
    _, skipped = without_special(list(entry.items.values()), entry.portion.form, text)
    run.skipped += [SkippedItem(model.name, **entry.portion.label(), **skip._asdict()) for skip in skipped]
    return _without(entry, {skip.item for skip in skipped})


def _without_long(entry: _Asked, model: ChatModel, run: ModelRun, sampling: Sampling) -> _Asked:
    """The portion without the items that are too long for a model on this machine, which are entered into the run."""
    longest_message: Callable[[Sampling], int | None] | None = getattr(model, "longest_message", None)
    longest = longest_message(sampling) if longest_message else None
    if longest is None:
        return entry
    lengths: dict[str, int] = {}
    # No tokenizer makes more tokens than bytes, besides those of the template: few messages need to be counted.
    surely_short = longest - model.tokens("A") - _MARGIN
    for prompt in entry.prompts:
        text = prompt.question.prompt
        if len(text.encode()) > surely_short:
            lengths[prompt.item] = max(model.tokens(text), lengths.get(prompt.item, 0))
    skipped = long_items(lengths, longest, entry.portion, model.name, remedy="lower --max-tokens")
    left_out = {skip.item for skip in skipped}
    run.skipped += [SkippedItem(model.name, **entry.portion.label(), **skip._asdict()) for skip in skipped]
    return _without(entry, left_out)


def _choices(portion: Portion) -> list[tuple[Item, Choice]]:
    make = benchmark_for(portion.form).choice
    if make is None:
        raise CannotAsk(f"Items of the form {portion.form} cannot be put as a choice between options to a chat model.")
    if portion.part != UNDIVIDED and form_named(portion.form).part_of(portion.items[0]) is None:
        raise CannotAsk(
            f"The part {portion.part} is a way to ask for likelihoods; a chat model is asked about {portion.name} as a "
            "whole."
        )
    choices = [(item, make(item)) for item in portion.items]
    for _, choice in choices:
        if choice.task not in get_args(Task):
            raise CannotAsk(
                f"Its benchmark sets the task {choice.task!r}, for which there are no instructions; there is "
                f"{', '.join(get_args(Task))}."
            )
    return choices


def _unfit(choice: Choice) -> str | None:
    """Why an item cannot be asked; None if it can."""
    texts = [option.text.strip().casefold() for option in choice.options]
    if not all(texts):
        return "one of its options is empty"
    return "two of its options have the same text" if len(set(texts)) < len(texts) else None


def _outcomes(
    model: str, entry: _Asked, replies: dict[bytes, Reply], sampling: Sampling
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table of answers of a portion, and its table of scores."""
    rows: list[dict[str, Any]] = []
    by_item: dict[str, list[ItemAnswer]] = {}
    for prompt in entry.prompts:
        reply = replies[prompt.question.digest]
        answer, outcome = _read(prompt, reply, entry.portion.language, sampling)
        by_item.setdefault(prompt.item, []).append(answer)
        rows.append(
            {
                "model": model,
                **entry.portion.label(),
                "protocol": entry.protocol,
                "item": prompt.item,
                "wording": prompt.arrangement.wording + 1,
                "order": ", ".join(option.role for option in prompt.options),
                "neutral": prompt.arrangement.neutral,
                "sample": prompt.question.sample + 1,
                "outcome": outcome,
                "shares": list(answer.shares),
                "reply": _shown(prompt.question, answer) if sampling.probabilities else reply.text,
            }
        )
    scores = score_table(
        model,
        entry.portion,
        entry.protocol,
        (
            (entry.items[item], role, role, score)
            for item, answers in by_item.items()
            for role, score in item_scores(answers)
        ),
    )
    return pd.DataFrame(rows, columns=ANSWERS_SCHEMA.names), scores


def _read(prompt: Prompt, reply: Reply, language: str, sampling: Sampling) -> tuple[ItemAnswer, str]:
    """The answer of a reply, and its outcome: the role of the chosen option, refusal or unparseable."""
    roles = tuple(option.role for option in prompt.options)
    if sampling.probabilities and reply.refused:
        return ItemAnswer(prompt.arrangement, roles, (0.0,) * len(roles), True), REFUSAL.kind
    if sampling.probabilities:
        shares = label_shares(prompt.question.labels, reply)
        best = max(range(len(shares)), key=shares.__getitem__)
        outcome = roles[best] if shares[best] > 0 else "unparseable"
        return ItemAnswer(prompt.arrangement, roles, shares), outcome
    texts = [option.text for option in prompt.options]
    read = REFUSAL if reply.refused else parse(reply.text, texts, prompt.question.labels, language)
    shares = tuple(float(place == read.place) for place in range(len(roles)))
    answer = ItemAnswer(prompt.arrangement, roles, shares, read.kind == "refusal")
    return answer, read.kind if read.place is None else roles[read.place]


def label_shares(labels: Sequence[str], reply: Reply) -> tuple[float, ...]:
    """The probability of each label as the first token, with or without a space and brackets.

    >>> reply = Reply("", first_tokens=((" A", math.log(0.5)), ("A", math.log(0.125)), ("B", math.log(0.25))))
    >>> label_shares(["A", "B"], reply)
    (0.625, 0.25)
    """
    shares = dict.fromkeys(labels, 0.0)
    for token, log_probability in reply.first_tokens:
        label = token.strip(" \t\n▁ĠĊ").strip("()[]*\"'.:")
        if label in shares:
            shares[label] += math.exp(log_probability)
    total = max(1.0, sum(shares.values()))  # rounding
    return tuple(share / total for share in shares.values())


def _shown(question: ChatQuestion, answer: ItemAnswer) -> str:
    return ", ".join(f"{label} {share:.3f}" for label, share in zip(question.labels, answer.shares, strict=True))
