"""Local translation models whose first output token is the target language: NLLB, M2M100, mBART-50."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import torch
from transformers.utils import GENERATION_CONFIG_NAME

from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.models.checkpoint_files import compute_files_digest
from tiltmeter.models.checkpoint_model import CheckpointModel, open_model
from tiltmeter.models.transformers_logging import silence_transformers
from tiltmeter.translators.translator_protocol import SOURCE

# Language codes of FLORES-200 (NLLB) and of mBART-50, which has fewer languages.
FLORES = {
    "ar": "arb_Arab",
    "be": "bel_Cyrl",
    "cs": "ces_Latn",
    "de": "deu_Latn",
    "en": "eng_Latn",
    "es": "spa_Latn",
    "fi": "fin_Latn",
    "fr": "fra_Latn",
    "he": "heb_Hebr",
    "hi": "hin_Deva",
    "hr": "hrv_Latn",
    "hu": "hun_Latn",
    "it": "ita_Latn",
    "nl": "nld_Latn",
    "pl": "pol_Latn",
    "pt": "por_Latn",
    "ru": "rus_Cyrl",
    "sk": "slk_Latn",
    "sl": "slv_Latn",
    "sr": "srp_Cyrl",
    "tr": "tur_Latn",
    "uk": "ukr_Cyrl",
}
MBART = {
    "ar": "ar_AR",
    "cs": "cs_CZ",
    "de": "de_DE",
    "en": "en_XX",
    "es": "es_XX",
    "fi": "fi_FI",
    "fr": "fr_XX",
    "he": "he_IL",
    "hi": "hi_IN",
    "hr": "hr_HR",
    "it": "it_IT",
    "nl": "nl_XX",
    "pl": "pl_PL",
    "pt": "pt_XX",
    "ru": "ru_RU",
    "sl": "sl_SI",
    "tr": "tr_TR",
    "uk": "uk_UA",
}
# Maximum number of generated tokens. GEST's sentences have about a dozen words, so longer output is
# degenerate text, for example a repetition.
MAX_NEW_TOKENS = 200
_CPU_BATCH_SIZE = 16
_GPU_BATCH_SIZE = 128


@dataclass(frozen=True, slots=True)
class LanguageCodes:
    """The language codes of a tokenizer; `token` is the format of the language token that begins a translation."""

    english: str
    codes: dict[str, str]
    token: str = "{}"

    def get_code(self, language: str) -> str:
        """Return the code of a language; a language that is not in `codes` is returned unchanged."""
        return self.codes.get(language, language)

    def get_target_token(self, language: str) -> str:
        """Return the token with which a translation into `language` begins."""
        return self.token.format(self.get_code(language))


# The codes of NLLB, M2M100 and mBART-50. The first codes whose token for English the tokenizer knows are used.
LANGUAGE_CODES = (
    LanguageCodes(FLORES[SOURCE], FLORES),
    LanguageCodes(SOURCE, {}, "__{}__"),
    LanguageCodes(MBART[SOURCE], MBART),
)


class NllbTranslator:
    """An encoder-decoder model whose translations start with the token of the target language.

    Decoding never samples. The beam width is `beams`, or the value in the model's generation config. If neither
    is set, decoding is greedy; the config of NLLB sets no value.
    """

    price = None

    def __init__(self, model: CheckpointModel, beams: int | None = None) -> None:
        if beams is not None and beams < 1:
            raise UsageError(f"The number of beams is {beams}; --beams must be at least 1.")
        self._model = model
        self._beams = beams
        self.name = f"nllb:{model.name}"
        self.source = SOURCE
        self.batch_size = _CPU_BATCH_SIZE if model.device.type == "cpu" else _GPU_BATCH_SIZE
        self._codes = self._find_codes()

    @property
    def key(self) -> str:
        """The key of stored translations: digests of the model and its generation config, and the decoding options."""
        generation = [self._model.checkpoint.folder / GENERATION_CONFIG_NAME]
        files = compute_files_digest(file for file in generation if file.is_file())
        model = self._model.fingerprint("seq2seq")
        start = "" if self.source == SOURCE else f" from {self.source}"
        return f"nllb {model} generation {files} beams {self._beams} longest {MAX_NEW_TOKENS}{start}"

    def check(self, language: str) -> None:
        """Raise a UsageError if the model has no token for the target language."""
        self._find_language_token(language)

    def with_source_language(self, language: str) -> "NllbTranslator":
        """Return a copy of this translator with another source language."""
        if self._find_token_id(token := self._codes.get_target_token(language)) is None:
            raise UsageError(
                f"{self._model.name} cannot translate from {language!r}: its tokenizer has no token {token}."
            )
        other = copy(self)
        other.source = language
        return other

    def translate(self, texts: Sequence[str], language: str) -> list[str]:
        """Return the translations, computed as one batch."""
        tokenizer, model = self._model.tokenizer, self._model.get_answerer("seq2seq").model
        tokenizer.src_lang = self._codes.get_code(self.source)
        inputs = tokenizer(list(texts), return_tensors="pt", padding=True).to(self._model.device)
        options: dict[str, Any] = {} if self._beams is None else {"num_beams": self._beams}
        with silence_transformers(), torch.inference_mode():
            generated = model.generate(  # type: ignore[operator]
                **inputs,
                forced_bos_token_id=self._find_language_token(language),
                do_sample=False,
                max_new_tokens=MAX_NEW_TOKENS,
                **options,
            )
        return [str(text).strip() for text in tokenizer.batch_decode(generated, skip_special_tokens=True)]

    def _find_codes(self) -> LanguageCodes:
        for codes in LANGUAGE_CODES:
            if self._find_token_id(codes.token.format(codes.english)) is not None:
                return codes
        tried = ", ".join(codes.token.format(codes.english) for codes in LANGUAGE_CODES)
        raise ModelError(
            f"The tokenizer of {self._model.name} has no token for English ({tried}), so the target language cannot be "
            "selected; use an NLLB, M2M100 or mBART-50 model."
        )

    def _find_language_token(self, language: str) -> int:
        token = self._codes.get_target_token(language)
        token_id = self._find_token_id(token)
        if token_id is None:
            raise UsageError(
                f"{self._model.name} cannot translate into {language!r}: its tokenizer has no token {token}."
            )
        return token_id

    def _find_token_id(self, token: str) -> int | None:
        token_id = self._model.tokenizer.convert_tokens_to_ids(token)
        return None if token_id is None or token_id == self._model.tokenizer.unk_token_id else int(token_id)


def open_nllb(
    name: str, *, beams: int | None = None, device: str = "auto", dtype: str = "auto", trust_remote_code: bool = False
) -> NllbTranslator:
    """Open a translation model; `name` is a folder or a hub id (`id` or `id@revision`)."""
    model = open_model(
        name, kind="seq2seq", device=device, dtype=dtype, trust_remote_code=trust_remote_code, cache=get_cache_folder()
    )
    return NllbTranslator(model, beams)
