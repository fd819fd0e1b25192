"""MT-GenEval."""

from tiltmeter.datasets.builtin_datasets.upstream_entry import BINARY, build_upstream_dataset
from tiltmeter.datasets.dataset_definition import Dataset
from tiltmeter.datasets.geneval_files import list_reference_names
from tiltmeter.forms.geneval import CONTEXT, PARTS, SENTENCES

_LANGUAGES = ("ar", "de", "es", "fr", "hi", "it", "pt", "ru")
# Lines of the contexts, where they were counted; the sentences are 300 pairs in every language. About 1,100
# contexts are said to be in each, which holds exactly for two of five, so the others (ar, hi, pt, nl) are left open.
_CONTEXTS = {"de": 1100, "es": 1096, "fr": 1099, "it": 1094, "ru": 1100}


def _list_companions(path: str) -> tuple[str, ...]:
    folder, _, name = path.rpartition("/")
    return tuple(f"{folder}/{reference}" for reference in list_reference_names(name))


ENTRIES: tuple[Dataset, ...] = (
    build_upstream_dataset(
        "amazon-science/machine-translation-gender-eval",
        "mt-geneval",
        "geneval",
        "MT-GenEval: Wikipedia sentences about a person of known gender, for translation systems",
        (
            BINARY,
            "a translation without a word of either reference counts as correct; the coverage says how many have one",
            "in some items the wrong reference has no word of its own, so no translation of them can be wrong",
            "the files do not state the gender of a context; it is that of its pronouns, and unknown in about a tenth",
            "the first of a counterfactual pair is from Wikipedia, the second was made by changing words",
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
        companion=_list_companions,
        items={code: 600 + count for code, count in _CONTEXTS.items()},
    ),
)
