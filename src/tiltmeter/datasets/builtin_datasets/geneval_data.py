"""Definition of the data set MT-GenEval."""

from tiltmeter.datasets.builtin_datasets.upstream_entry import BINARY, build_upstream_dataset
from tiltmeter.datasets.dataset_definition import Dataset
from tiltmeter.datasets.geneval_files import list_reference_names
from tiltmeter.forms.geneval import CONTEXT, PARTS, SENTENCES

_LANGUAGES = ("ar", "de", "es", "fr", "hi", "it", "pt", "ru")
# The number of items with context in each language; the items of ar, hi, pt and nl were not counted. Each language in
# this dictionary has 300 pairs of sentences in addition.
_CONTEXTS = {"de": 1100, "es": 1096, "fr": 1099, "it": 1094, "ru": 1100}


def _list_reference_files(path: str) -> tuple[str, ...]:
    folder, _, name = path.rpartition("/")
    return tuple(f"{folder}/{reference}" for reference in list_reference_names(name))


ENTRIES: tuple[Dataset, ...] = (
    build_upstream_dataset(
        "amazon-science/machine-translation-gender-eval",
        "mt-geneval",
        "geneval",
        "MT-GenEval: sentences from Wikipedia about a person of known gender, for translation systems",
        (
            BINARY,
            "a translation without a word that only one of the two references contains counts as correct; the measure "
            "coverage gives the share of translations with such a word",
            "in some items the incorrect reference has no word that distinguishes it from the correct reference, so no "
            "translation can be wrong",
            "the files do not state the gender of a context; it is taken from the pronouns of the context, and it is "
            "unknown for about 10% of the contexts",
            "the first sentence of a counterfactual pair is from Wikipedia, the second is an edited version",
        ),
        (
            *(
                (code, SENTENCES, "geneval", f"data/sentences/test/geneval-sentences-{gender}-test.en_{code}.en")
                for code in _LANGUAGES
                for gender in ("feminine", "masculine")
            ),
            *(
                (code, CONTEXT, "geneval", f"data/context/geneval-context-wikiprofessions-2to1-test.en_{code}.en")
                for code in (*_LANGUAGES, "nl")
            ),
        ),
        PARTS,
        companions=_list_reference_files,
        items={code: 600 + count for code, count in _CONTEXTS.items()},
    ),
)
