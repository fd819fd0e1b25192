"""EuroGEST: GEST's sentences in thirty European languages."""

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
_TRANSLATED = "machine translations, filtered by rule and not checked sentence by sentence"

ENTRIES: tuple[Dataset, ...] = (
    build_upstream_dataset(
        "JacquelineRowe/EuroGEST",
        "eurogest",
        "gest",
        "EuroGEST: GEST's sentences in 29 more languages where the translation does not show the speaker's gender",
        (
            BINARY,
            _TRANSLATED,
            "which sentences there are depends on the language: in Slavic ones few do not show the gender, so that a "
            "stereotype may have only four",
            "the speaker is named by a pronoun, but by a noun in ca el es et fi gl hu it tr, where *he said* does not "
            "differ from *she said* or has no word that the other lacks",
        ),
        (
            (language, None, "eurogest-sentences", "data/gest_translations_gender_insensitive.csv")
            for language in _SENTENCES
        ),
        (FRAME,),
        companion=lambda _path: "data/prompt_scaffolds.csv",
        items=_SENTENCES,
    ),
    build_upstream_dataset(
        "JacquelineRowe/EuroGEST",
        "eurogest-pairs",
        "gendered-pairs",
        "EuroGEST: GEST's sentences in 20 languages, each as a man and as a woman would say it",
        (
            BINARY,
            _TRANSLATED,
            "German has no pair for stereotype 12 and Maltese none for 8; both have fewer than a hundred pairs",
            "pairs that differ in more than one word are not asked, nor those whose words begin with different letters",
            "which pairs a masked model is asked depends on its tokenizer",
        ),
        ((language, None, "eurogest-pairs", "data/gest_translations_gender_sensitive.csv") for language in _PAIRS),
        items=_PAIRS,
    ),
)
