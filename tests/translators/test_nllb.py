"""Local translation models: tiny ones with random weights, compared with direct calls of transformers."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as t

from tests.support.messages import raises_mentioning
from tiltmeter.errors import ModelError, UsageError
from tiltmeter.translators import nllb as module
from tiltmeter.translators import open_translator
from tiltmeter.translators.nllb import NllbTranslator

WORDS = ["I", "was", "tired", "happy", "fixed", "the", "bike", ".", "som", "bol", "bola", "unavený", "rád", "dnes"]
TEXTS = ["I was tired .", "I fixed the bike .", "I was happy"]
MAX_NEW_TOKENS = 12  # random weights do not generate an end token
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁", *(f"▁{word}" for word in WORDS), *WORDS]


def model(size: int, pad: int = 1) -> Any:
    config = t.M2M100Config(
        vocab_size=size,
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=24,
        decoder_ffn_dim=24,
        max_position_embeddings=256,
        pad_token_id=pad,
        decoder_start_token_id=2,
    )
    torch.manual_seed(3)
    network = t.M2M100ForConditionalGeneration(config).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.4)
    return network


def saved(folder: Path, tokenizer: Any, network: Any) -> str:
    tokenizer.save_pretrained(folder)
    network.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def nllb(tmp_path_factory: pytest.TempPathFactory) -> str:
    tokenizer = t.NllbTokenizer(vocab={piece: number for number, piece in enumerate(PIECES)}, merges=[])
    return saved(tmp_path_factory.mktemp("nllb"), tokenizer, model(len(tokenizer)))


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_NEW_TOKENS", MAX_NEW_TOKENS)


def opened(name: str, **options: Any) -> NllbTranslator:
    translator = open_translator(f"nllb:{name}", device="cpu", **options)
    assert isinstance(translator, NllbTranslator)
    return translator


def generated(name: str, text: str, token: str, beams: int, source: str) -> str:
    """Return a translation, computed as in the documentation of transformers."""
    tokenizer = t.AutoTokenizer.from_pretrained(name, src_lang=source)
    network = t.AutoModelForSeq2SeqLM.from_pretrained(name).eval()
    ids = network.generate(
        **tokenizer(text, return_tensors="pt"),
        forced_bos_token_id=tokenizer.convert_tokens_to_ids(token),
        num_beams=beams,
        do_sample=False,
        max_new_tokens=MAX_NEW_TOKENS,
    )
    return str(tokenizer.batch_decode(ids, skip_special_tokens=True)[0]).strip()


@pytest.mark.parametrize("beams", [1, 3])
def test_a_batch_has_the_translations_of_single_sentences(nllb: str, beams: int) -> None:
    translator = opened(nllb, beams=beams)
    for language, token in (("sk", "slk_Latn"), ("uk", "ukr_Cyrl")):
        expected = [generated(nllb, text, token, beams, "eng_Latn") for text in TEXTS]
        assert translator.translate(TEXTS, language) == expected


def test_the_first_token_is_that_of_the_language(nllb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = opened(nllb)
    inner = translator._model.get_answerer("seq2seq").model
    seen: list[int] = []
    generate = inner.generate

    def recording(**options: Any) -> Any:
        output = generate(**options)
        seen.extend(output[:, 1].tolist())
        return output

    monkeypatch.setattr(inner, "generate", recording)
    translator.translate(TEXTS, "sk")
    assert seen == [translator._model.tokenizer.convert_tokens_to_ids("slk_Latn")] * 3


def test_the_key_names_weights_and_search(nllb: str, tmp_path: Path) -> None:
    keys = {opened(nllb, beams=beams).key for beams in (None, 1, 5)}
    assert len(keys) == 3
    assert opened(nllb).key in keys
    assert opened(nllb).price is None
    other = t.AutoModelForSeq2SeqLM.from_pretrained(nllb)
    with torch.no_grad():
        next(other.parameters()).add_(1)
    name = saved(tmp_path / "other", t.AutoTokenizer.from_pretrained(nllb), other)
    assert opened(name).key not in keys


def test_languages_may_be_given_by_the_codes_of_the_model(nllb: str) -> None:
    translator = opened(nllb)
    translator.check("be")
    translator.check("spa_Latn")
    with raises_mentioning(UsageError, "into 'xx'", " gl, "):
        translator.check("xx")
    with raises_mentioning(UsageError, "from 'tlh'"):
        translator.with_source_language("tlh")
    with raises_mentioning(UsageError, "--beams", "at least 1"):
        opened(nllb, beams=0)


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("gl", "glg_Latn"),
        ("eo", "epo_Latn"),
        ("ar", "arb_Arab"),
        ("fa", "pes_Arab"),
        ("no", "nob_Latn"),
        ("sr", "srp_Cyrl"),
        ("lv", "lvs_Latn"),
        ("et", "est_Latn"),
        ("zh", "zho_Hans"),
        ("zh-TW", "zho_Hant"),
        ("pt-BR", "por_Latn"),
        ("mk", "mkd_Cyrl"),
        ("iw", "heb_Hebr"),
    ],
)
def test_the_codes_of_nllb_fit_the_usual_codes(nllb: str, language: str, code: str) -> None:
    assert opened(nllb)._find_code(language, "into") == code


def test_mbart(tmp_path: Path) -> None:
    tokenizer = t.MBart50Tokenizer(vocab=[(piece, -1.0) for piece in PIECES])
    name = saved(tmp_path / "mbart", tokenizer, model(len(tokenizer) + 1, tokenizer.pad_token_id))
    translator = opened(name, beams=1)
    assert translator.translate(TEXTS[:1], "cs") == [generated(name, TEXTS[0], "cs_CZ", 1, "en_XX")]
    with raises_mentioning(UsageError, "into 'sk'"):
        translator.check("sk")


def test_m2m100(tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece", reason="the package sentencepiece is not installed")
    import json

    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join([*TEXTS, " ".join(WORDS)] * 20), encoding="utf-8")
    prefix = str(tmp_path / "spm")
    sentencepiece.SentencePieceTrainer.train(
        input=str(corpus), model_prefix=prefix, vocab_size=60, hard_vocab_limit=False, minloglevel=2
    )
    pieces = [line.split("\t")[0] for line in Path(f"{prefix}.vocab").read_text(encoding="utf-8").splitlines()]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys([*PIECES[:4], *pieces]))}
    (tmp_path / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    tokenizer = t.M2M100Tokenizer(str(tmp_path / "vocab.json"), f"{prefix}.model")
    # The tokens of the hundred languages follow the vocabulary.
    name = saved(tmp_path / "m2m", tokenizer, model(len(tokenizer) + 108))
    translator = opened(name, beams=1)
    assert translator.translate(TEXTS[:1], "sk") == [generated(name, TEXTS[0], "__sk__", 1, "en")]


def test_a_model_without_language_tokens_is_rejected(tmp_path: Path) -> None:
    from tests.models.tiny import SEQ2SEQ, made
    from tests.models.tiny_tokenizers import word_level

    name = saved(tmp_path / "t5", word_level(pad_token="<pad>", eos_token="</s>"), made(SEQ2SEQ["t5"]))
    with raises_mentioning(ModelError, "for English", "(eng_Latn, __en__, en_XX)"):
        opened(name)
