"""Infer from a file name how published predictions were made.

The released code of StereoSet and of its translations builds a file name from these values: the model, the Python
class that scored intrasentence items, the class that scored intersentence items, the scoring case (a letter for the
scoring formula) of a causal model, and the language:

    bert-base-cased_BertLM_BertNextSentence_en.json      masked; next-sentence head
    gpt2_GPT2LM_GPT2LM_c_en.json                         causal; case c
    gpt2_GPT2LM_ModelNSP_en.json                         causal; a fine-tuned next-sentence head
    predictions_gpt2_ModelNSP_GPT2LM.json                the first release: the two classes are in reverse order

Scoring case d is the default of a run, so its protocol is called `published`.
"""

import re
from dataclasses import dataclass

from tiltmeter.benchmarks.association import DEFAULT_CASE
from tiltmeter.forms.association import PARTS
from tiltmeter.measures.records import get_base_protocol
from tiltmeter.questions import Kind
from tiltmeter.runs.measurement_conditions import AnswerType

PROTOCOL = "published"
FINE_TUNED = "published/fine-tuned-head"

_LANGUAGE_MODEL = re.compile(r"(?P<name>mT5|T5|GPT2|[A-Za-z]*BERTa?|[A-Za-z]*Bert)LM")
_HEAD = re.compile(r"BertNextSentence|ModelNSP")
_CASE = re.compile(r"LM_(?P<case>orig|[b-f])(?:_|$)")
_KINDS: dict[str, Kind] = {"GPT2": "causal", "T5": "seq2seq", "mT5": "seq2seq"}
_CLASSES = re.compile(r"_+(?:(?:mT5|T5|GPT2|[A-Za-z]*BERTa?|[A-Za-z]*Bert)LM|BertNextSentence|ModelNSP)(?:_.*)?$")
# Maps the number of GEST templates for which a model has scores to the kind of the model.
_BY_TEMPLATES: dict[int, Kind] = {4: "masked", 2: "causal"}


@dataclass(frozen=True, slots=True)
class ScoringMethod:
    """How a part was scored: kind of model, answer type and protocol."""

    kind: str | None
    answer_type: AnswerType
    protocol: str


def infer_scoring_methods(stem: str, kind: str | None = None, protocol: str | None = None) -> dict[str, ScoringMethod]:
    """Infer from a file name how each part of StereoSet was scored; `kind` and `protocol` override the file name.

    >>> infer_scoring_methods("gpt2_GPT2LM_GPT2LM_c_en")["intersentence"]
    ScoringMethod(kind='causal', answer_type='likelihood', protocol='published/c')
    >>> infer_scoring_methods("t5-base_T5LM_ModelNSP_en")["intersentence"]
    ScoringMethod(kind='seq2seq', answer_type='next-sentence', protocol='published/fine-tuned-head')
    >>> infer_scoring_methods("mine")["intrasentence"]
    ScoringMethod(kind=None, answer_type='likelihood', protocol='published')
    """
    names = [match["name"] for match in _LANGUAGE_MODEL.finditer(stem)]
    head, case = _HEAD.search(stem), _CASE.search(stem)
    kind = kind or (_KINDS.get(names[0], "masked") if names else "masked" if head and "Bert" in head[0] else None)
    between = f"{PROTOCOL}/{case['case']}" if case else PROTOCOL
    if head is not None and head[0] == "ModelNSP":
        between = FINE_TUNED
    intersentence = (protocol or between).removesuffix(f"/{DEFAULT_CASE}")
    # For intersentence items, masked models are scored by their next-sentence head.
    by_head = head is not None or kind == "masked" or intersentence == FINE_TUNED
    answer_type: AnswerType = "next-sentence" if by_head else "likelihood"
    within, after = PARTS
    return {
        within: ScoringMethod(kind, "likelihood", get_base_protocol(intersentence)),
        after: ScoringMethod(kind, answer_type, intersentence),
    }


def infer_model_name(stem: str) -> str:
    """Return the name of the model in a file name, without classes, scoring case and language.

    >>> infer_model_name("bert-base-cased_BertLM_BertNextSentence_en"), infer_model_name("gpt2__GPT2LM_orig_en")
    ('bert-base-cased', 'gpt2')
    >>> infer_model_name("predictions_gpt2_ModelNSP_GPT2LM"), infer_model_name("mine_de")
    ('gpt2', 'mine')
    """
    name, found = _CLASSES.subn("", stem.removeprefix("predictions_"), count=1)
    return name if found else re.sub(r"_[a-z]{2,3}$", "", name)


def infer_gest_kind(folder: str, templates: int) -> Kind | None:
    """Infer the kind of a model from the folder of its GEST scores or the number of templates; None if unclear.

    >>> infer_gest_kind("english_glm", 1), infer_gest_kind("elsewhere", 4), infer_gest_kind("elsewhere", 1)
    ('causal', 'masked', None)
    """
    if folder.endswith("_mlm") or folder.endswith("_glm"):
        return "masked" if folder.endswith("_mlm") else "causal"
    return _BY_TEMPLATES.get(templates)
