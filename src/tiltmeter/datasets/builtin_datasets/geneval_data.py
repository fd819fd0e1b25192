"""Definition of the data set MT-GenEval."""

from tiltmeter.datasets.builtin_datasets.upstream_entry import BINARY, build_upstream_dataset
from tiltmeter.datasets.dataset_definition import Dataset
from tiltmeter.datasets.geneval_files import list_reference_names
from tiltmeter.forms.geneval import CONTEXT, PARTS, SENTENCES

_LANGUAGES = ("ar", "de", "es", "fr", "hi", "it", "pt", "ru")
# The number of items with context in each language. The files of ar, hi, pt and nl were not counted. In addition, every
# language has 300 pairs of sentences.
_CONTEXTS = {"de": 1100, "es": 1096, "fr": 1099, "it": 1094, "ru": 1100}


def _list_companions(path: str) -> tuple[str, ...]:
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
            "a translation without a distinguishing word counts as correct; the coverage shows how many have one",
            "in some items the incorrect reference has no distinguishing word, so no translation can be wrong",
            "the files do not state the gender of a context; it is taken from the pronouns, and unknown in about 10%",
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
        companions=_list_companions,
        items={code: 600 + count for code, count in _CONTEXTS.items()},
    ),
)
