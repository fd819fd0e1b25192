"""Local translation models whose first output token is the target language: NLLB, M2M100, mBART-50."""

import re
from collections.abc import Sequence
from copy import copy
from typing import Any, Literal

import torch
from transformers.utils import GENERATION_CONFIG_NAME

from tiltmeter.datasets.cache_folder import get_cache_folder
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.language_codes import get_base_code, get_script_code, get_three_letters, is_same_language
from tiltmeter.models.checkpoint_files import compute_files_digest
from tiltmeter.models.checkpoint_model import CheckpointModel, open_model
from tiltmeter.models.transformers_logging import silence_transformers
from tiltmeter.translators.translator_protocol import SOURCE

# Maximum number of generated tokens. GEST's sentences have about a dozen words, so longer output is
# degenerate text, for example a repetition.
MAX_NEW_TOKENS = 200
_CPU_BATCH_SIZE = 16
_GPU_BATCH_SIZE = 128


# The language tokens of NLLB, M2M100 and mBART-50: the token of English, and a pattern whose group is the code. The
# first kind whose token for English the tokenizer knows is used.
_LANGUAGE_TOKENS = (
    ("eng_Latn", re.compile(r"([a-z]{3}_[A-Z][a-z]{3})")),
    ("__en__", re.compile(r"__([a-z]{2,3})__")),
    ("en_XX", re.compile(r"([a-z]{2}_[A-Z]{2})")),
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
        # The languages of the model: its own language codes, with their tokens.
        self._tokens = self._list_language_tokens()

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
        self._find_code(language, "into")

    def with_source_language(self, language: str) -> "NllbTranslator":
        """Return a copy of this translator with another source language."""
        self._find_code(language, "from")
        other = copy(self)
        other.source = language
        return other

    def translate(self, texts: Sequence[str], language: str) -> list[str]:
        """Return the translations, computed as one batch."""
        tokenizer, model = self._model.tokenizer, self._model.get_answerer("seq2seq").model
        tokenizer.src_lang = self._find_code(self.source, "from")
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

    def _list_language_tokens(self) -> dict[str, str]:
        for english, pattern in _LANGUAGE_TOKENS:
            if self._find_token_id(english) is not None:
                tokenizer = self._model.tokenizer
                # The vocabulary of M2M100 does not contain the tokens of languages.
                tokens = {*tokenizer.get_vocab(), *getattr(tokenizer, "lang_token_to_id", {})}
                found = (pattern.fullmatch(token) for token in sorted(tokens))
                return {match[1]: match[0] for match in found if match}
        tried = ", ".join(english for english, _ in _LANGUAGE_TOKENS)
        raise ModelError(
            f"The tokenizer of {self._model.name} has no token for English ({tried}), so the target language cannot be "
            "selected; use an NLLB, M2M100 or mBART-50 model."
        )

    def _find_code(self, language: str, direction: Literal["from", "into"]) -> str:
        """Return the model's own code of a language; raise a UsageError if the model has no token for the language."""
        if language in self._tokens:
            return language
        script, letters = get_script_code(language), get_three_letters(language)
        # Codes for a country, such as those of mBART-50, do not name the script.
        fitting = [
            code
            for code in self._tokens
            if is_same_language(code, language) and get_script_code(code.removesuffix("_XX")) == script
        ]
        if not fitting:
            known = ", ".join(sorted(set(map(get_base_code, self._tokens))))
            raise UsageError(
                f"{self._model.name} cannot translate {direction} {language!r}; choose another system or one of its "
                f"languages: {known}."
            )
        # Of several codes, such as those of Persian and Dari, choose the code that ISO 639-3 has for the language.
        return next((code for code in fitting if code.startswith(letters)), fitting[0])

    def _find_language_token(self, language: str) -> int:
        token_id = self._find_token_id(self._tokens[self._find_code(language, "into")])
        assert token_id is not None
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
