"""Translation models that run here: NLLB, M2M100, mBART-50, and others that are told the language by a token."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers.utils import GENERATION_CONFIG_NAME

from tiltmeter.datasets.cache import cache_dir
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models.loaded_files import digest
from tiltmeter.models.loading import CheckpointModel, open_model
from tiltmeter.models.quiet import quiet_transformers
from tiltmeter.translators.base import SOURCE

# The codes of FLORES-200, by which NLLB knows languages, and those of mBART-50, which knows fewer.
FLORES = {
    "be": "bel_Cyrl",
    "cs": "ces_Latn",
    "en": "eng_Latn",
    "hr": "hrv_Latn",
    "pl": "pol_Latn",
    "ru": "rus_Cyrl",
    "sk": "slk_Latn",
    "sl": "slv_Latn",
    "sr": "srp_Cyrl",
    "uk": "ukr_Cyrl",
}
MBART = {
    "cs": "cs_CZ",
    "en": "en_XX",
    "hr": "hr_HR",
    "pl": "pl_PL",
    "ru": "ru_RU",
    "sl": "sl_SI",
    "uk": "uk_UA",
}
# Sentences of GEST are a dozen words long; a model that goes on beyond this has lost its way.
LONGEST = 200
_AT_ONCE = {"cpu": 16}
_AT_ONCE_ELSEWHERE = 128


@dataclass(frozen=True, slots=True)
class Coding:
    """How a tokenizer names languages: English as a source, and the token that the translation begins with."""

    english: str
    codes: dict[str, str]
    token: str = "{}"

    def target(self, language: str) -> str:
        """The token for a language; what is not listed is taken for the model's own code."""
        return self.token.format(self.codes.get(language, language))


CODINGS = (
    Coding(FLORES[SOURCE], FLORES),
    Coding(SOURCE, {}, "__{}__"),  # M2M100
    Coding(MBART[SOURCE], MBART),
)


class NllbTranslator:
    """An encoder-decoder that begins a translation with the token of its language.

    It searches as its generation config says (greedily, where that says nothing, as NLLB's does) or with `beams`
    beams, and never samples.
    """

    price = None

    def __init__(self, model: CheckpointModel, beams: int | None = None) -> None:
        if beams is not None and beams < 1:
            raise UsageError(f"A search with {beams} beams finds nothing; give at least 1.")
        self._model = model
        self._beams = beams
        self.name = f"nllb:{model.name}"
        self.at_once = _AT_ONCE.get(model.device.type, _AT_ONCE_ELSEWHERE)
        self._coding = self._find_coding()

    @property
    def key(self) -> str:
        """The model's files, its generation config among them, and how it searches."""
        generation = [self._model.checkpoint.folder / GENERATION_CONFIG_NAME]
        search = digest(file for file in generation if file.is_file())
        return f"nllb {self._model.fingerprint('seq2seq')} generation {search} beams {self._beams} longest {LONGEST}"

    def check(self, language: str) -> None:
        """Refuse a language that the model has no token for."""
        self._token(language)

    def translate(self, texts: Sequence[str], language: str) -> list[str]:
        """The translations, as one batch."""
        tokenizer, model = self._model.tokenizer, self._model.answerer("seq2seq").model
        tokenizer.src_lang = self._coding.english
        inputs = tokenizer(list(texts), return_tensors="pt", padding=True).to(self._model.device)
        options: dict[str, Any] = {} if self._beams is None else {"num_beams": self._beams}
        with quiet_transformers(), torch.inference_mode():
            made = model.generate(  # type: ignore[operator]
                **inputs,
                forced_bos_token_id=self._token(language),
                do_sample=False,
                max_new_tokens=LONGEST,
                **options,
            )
        return [str(text).strip() for text in tokenizer.batch_decode(made, skip_special_tokens=True)]

    def _find_coding(self) -> Coding:
        for coding in CODINGS:
            if self._id(coding.token.format(coding.english)) is not None:
                return coding
        tried = ", ".join(coding.token.format(coding.english) for coding in CODINGS)
        raise ModelError(
            f"The tokenizer of {self._model.name} has no token for English ({tried}), so it cannot be told what to "
            "translate into."
        )

    def _token(self, language: str) -> int:
        token = self._coding.target(language)
        found = self._id(token)
        if found is None:
            raise UsageError(f"{self._model.name} does not translate into {language!r}: it has no token {token}.")
        return found

    def _id(self, token: str) -> int | None:
        found = self._model.tokenizer.convert_tokens_to_ids(token)
        return None if found is None or found == self._model.tokenizer.unk_token_id else int(found)


def open_nllb(
    name: str, *, beams: int | None = None, device: str = "auto", dtype: str = "auto", trust_remote_code: bool = False
) -> NllbTranslator:
    """The translation model called `name`: a folder or a hub id (`id@revision`)."""
    model = open_model(
        name, kind="seq2seq", device=device, dtype=dtype, trust_remote_code=trust_remote_code, cache=cache_dir()
    )
    return NllbTranslator(model, beams)
