"""Definition of the data set WinoBias."""

from tiltmeter.datasets.builtin_datasets.upstream_entry import BINARY, build_upstream_dataset
from tiltmeter.datasets.dataset_definition import Dataset
from tiltmeter.forms.winobias import PARTS as WINOBIAS_PARTS

ENTRIES: tuple[Dataset, ...] = (
    build_upstream_dataset(
        "uclanlp/corefBias",
        "winobias",
        "winobias",
        "WinoBias: sentences about two occupations, with a pronoun for one of them",
        (
            BINARY,
            "stereotypes are defined by American labour statistics",
            "in 20 of the 1,584 lines the two sentences differ in more than their pronouns; these lines are not used",
        ),
        (
            ("en", part, "winobias", f"WinoBias/wino/data/pro_stereotyped_{part.replace('-', '.txt.')}")
            for part in WINOBIAS_PARTS
        ),
        WINOBIAS_PARTS,
        companions=lambda path: (path.replace("pro_", "anti_"),),
        items={"en": 1584},
    ),
)
