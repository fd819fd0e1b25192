"""Definitions of the data sets of EuroGEST: the sentences of GEST in thirty European languages."""

from tiltmeter.datasets.builtin_datasets.upstream_entry import BINARY, build_upstream_dataset
from tiltmeter.datasets.dataset_definition import Dataset
from tiltmeter.forms.frames import FRAME

_SENTENCES = {
    "en": 3565,
    "bg": 1884,
    "ca": 1766,
    "cs": 238,
    "da": 3281,
    "de": 2747,
    "el": 2184,
    "es": 2397,
    "et": 3133,
    "fi": 3257,
    "fr": 2255,
    "ga": 1638,
    "gl": 1495,
    "hr": 329,
    "hu": 3154,
    "it": 2011,
    "lt": 1836,
    "lv": 1864,
    "mt": 1053,
    "nl": 3294,
    "no": 3299,
    "pl": 379,
    "pt": 2228,
    "ro": 2663,
    "ru": 598,
    "sk": 182,
    "sl": 189,
    "sv": 3361,
    "tr": 3322,
    "uk": 460,
}
_PAIRS = {
    "bg": 778,
    "ca": 190,
    "cs": 1570,
    "de": 82,
    "el": 388,
    "es": 468,
    "fr": 552,
    "gl": 137,
    "hr": 1468,
    "it": 571,
    "lt": 431,
    "lv": 433,
    "mt": 68,
    "pl": 1368,
    "pt": 436,
    "ro": 199,
    "ru": 1352,
    "sk": 1556,
    "sl": 1485,
    "uk": 1006,
}
_TRANSLATED = "machine translations, filtered by rules and not checked individually"

ENTRIES: tuple[Dataset, ...] = (
    build_upstream_dataset(
        "JacquelineRowe/EuroGEST",
        "eurogest",
        "gest",
        "EuroGEST: sentences of GEST in English and 29 other languages that do not show the gender of the speaker",
        (
            BINARY,
            _TRANSLATED,
            "the languages have different sentences: few Slavic sentences do not show the gender of the speaker, so a "
            "stereotype may have only four sentences",
            "the speaker is named by a pronoun, as in *he said*; in ca el es et fi gl hu it tr, the speaker is named "
            "by a noun, as in *the man said*, because *he said* has no word that distinguishes it from *she said*",
        ),
        (
            (language, None, "eurogest-sentences", "data/gest_translations_gender_insensitive.csv")
            for language in _SENTENCES
        ),
        (FRAME,),
        companions=lambda _path: ("data/prompt_scaffolds.csv",),
        items=_SENTENCES,
    ),
    build_upstream_dataset(
        "JacquelineRowe/EuroGEST",
        "eurogest-pairs",
        "gendered-pairs",
        "EuroGEST: sentences of GEST in 20 languages, as said by a man and by a woman",
        (
            BINARY,
            _TRANSLATED,
            "German has no pair for stereotype 12, and Maltese has no pair for stereotype 8; both languages have fewer "
            "than a hundred pairs",
            "pairs that differ in more than one word, or in words with different first letters, are not used",
            "the pairs used for a masked model depend on its tokenizer",
        ),
        ((language, None, "eurogest-pairs", "data/gest_translations_gender_sensitive.csv") for language in _PAIRS),
        items=_PAIRS,
    ),
)
