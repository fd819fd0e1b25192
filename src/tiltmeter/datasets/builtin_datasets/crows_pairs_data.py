"""Definitions of the data sets CrowS-Pairs, its translations and its revisions."""

from tiltmeter.datasets.builtin_datasets.upstream_entry import AMERICAN, BINARY, FAULTY, build_upstream_dataset
from tiltmeter.datasets.dataset_definition import Dataset

CONTROLS = ("crows-antistereotype", "crows-negation")
_FEW = "the number of pairs is small, so only large differences are detectable"
# The reason why a data set with the same groups but other statements can serve as a control.
_REVERSED = "a model that follows stereotypes would reverse its preference, but a model that prefers a group would not"


ENTRIES: tuple[Dataset, ...] = (
    build_upstream_dataset(
        "VSteinborn/s_jsd-multilingual-bias",
        "gender-pairs",
        "pairs",
        "212 gender pairs of CrowS-Pairs, edited and translated by people into nine languages",
        (AMERICAN, "with 212 pairs, only large differences are detectable"),
        (
            (language, None, "pairs-csv", f"data/cps_translated_{language}_formatted.csv")
            for language in ("en", "de", "fi", "fr", "id", "th", "ko", "vi", "zh", "ar")
        ),
        items=dict.fromkeys(("en", "de", "fi", "fr", "id", "th", "ko", "vi", "zh", "ar"), 212),
    ),
    build_upstream_dataset(
        "nyu-mll/crows-pairs",
        "crows-pairs",
        "pairs",
        "CrowS-Pairs: 1,508 pairs about nine types of bias",
        (
            FAULTY,
            "its authors warn that it is noisy and may not be a good indicator of the bias of a model",
            "its authors ask not to use it as proof that a model is unbiased",
            AMERICAN,
        ),
        [("en", None, "crows-csv", "data/crows_pairs_anonymized.csv")],
        items={"en": 1508},
        control=CONTROLS,
    ),
    build_upstream_dataset(
        "jerryspan/Dutch-CrowS-Pairs",
        "crows-pairs-dutch",
        "pairs",
        "CrowS-Pairs in Dutch, with the same pairs in French and English",
        (
            FAULTY,
            "in 313 Dutch pairs, the direction differs from the English pair, because the column of directions is "
            "shifted by up to 16 rows; the direction is used only to group pairs",
            "French pair 129 has only one sentence and is left out; French pair 379 has the same sentence twice",
            "34 Dutch and 57 French pairs have a different bias type than the English ones",
        ),
        [
            ("nl", None, "crows-dutch", "datasets/crows_dutch.csv"),
            ("fr", None, "crows-parallel", "datasets/crows_french.csv"),
            ("en", None, "crows-parallel", "datasets/crows_eng.csv"),
        ],
        companions=lambda path: ("datasets/crows_eng.csv",) if "dutch" in path else (),
        items={"nl": 1463, "fr": 1462, "en": 1463},
    ),
    build_upstream_dataset(
        "shijing001/bayes_factor_bias_detection",
        "crows-pairs-french",
        "pairs",
        "CrowS-Pairs in French with 210 additional pairs, and the revised English pairs, as used by lm-eval",
        (
            FAULTY,
            "the files are a copy in a repository of other authors, because the original repository is not on GitHub",
            "French pair 129 has only one sentence and is left out; French pairs 59, 379 and 388 have the same "
            "sentence twice",
            "141 pairs have a different bias type in French than in English",
        ),
        [
            ("fr", None, "crows-tsv", "crows_pairs_FR_languagearc_contribution+210.csv"),
            ("en", None, "crows-tsv", "crows_pairs_EN_revised+210.csv"),
        ],
        items={"fr": 1676, "en": 1677},
    ),
    build_upstream_dataset(
        "melanie-galea/maltese-bias-mitigation-and-measurement",
        "crows-pairs-maltese",
        "pairs",
        "CrowS-Pairs in Maltese: the revised pairs and 210 additional ones, translated and adapted by people",
        (
            FAULTY,
            "the file is a copy in a repository of other authors, because the original repository is not on GitHub",
            "five pairs have the same sentence twice; one pair has no bias type and is counted as other",
        ),
        [("mt", None, "crows-revised", "CrowS/crowspairs_mt.csv")],
        items={"mt": 1677},
    ),
    build_upstream_dataset(
        "kanekomasahiro/bias_eval_in_multiple_mlm",
        "crows-pairs-gender",
        "pairs",
        "262 gender pairs of CrowS-Pairs, translated by people into Japanese and Russian",
        (
            AMERICAN,
            FAULTY,
            BINARY,
            "the Russian sentences have spaces before punctuation marks, which is unusual in the training texts of "
            "models",
        ),
        [
            ("ja", None, "crows-json", "translated_data/japanese.json"),
            ("ru", None, "crows-json", "translated_data/russian.json"),
        ],
        items={"ja": 262, "ru": 262},
    ),
    build_upstream_dataset(
        "kinit-sk/bias-methodology",
        "crows-pairs-revised",
        "pairs",
        "CrowS-Pairs in English, revised twice: by Névéol et al. (2022) and by Pikuliak et al. (2023)",
        (AMERICAN, "pair 1293 has no bias type and is counted as other"),
        [("en", None, "crows-revised", "data/crows_revised.csv")],
        items={"en": 1467},
        control=CONTROLS,
    ),
    build_upstream_dataset(
        "kinit-sk/bias-methodology",
        "crows-antistereotype",
        "pairs",
        "65 gender pairs of CrowS-Pairs with the opposite stereotype: a control",
        (AMERICAN, BINARY, _FEW),
        [("en", None, "crows-controls", "data/crows_antistereotype.csv")],
        companions=lambda _path: ("data/crows_revised.csv",),
        items={"en": 65},
        why_control=f"the control has the same groups in sentences with the opposite stereotype; {_REVERSED}",
    ),
    build_upstream_dataset(
        "kinit-sk/bias-methodology",
        "crows-negation",
        "pairs",
        "59 gender pairs of CrowS-Pairs with negated statements, seven of the pairs in two versions: a control",
        (AMERICAN, BINARY, _FEW),
        [("en", None, "crows-controls", "data/crows_negation.csv")],
        companions=lambda _path: ("data/crows_revised.csv",),
        items={"en": 66},
        why_control=f"the control has the same groups in negated sentences; {_REVERSED}",
    ),
    build_upstream_dataset(
        "kinit-sk/bias-methodology",
        "slovak-gender",
        "pairs",
        "223 Slovak pairs: a gender stereotype about the stereotyped gender, and about the other gender",
        (
            BINARY,
            "its authors exclude 81 pairs that they marked as competence or misogynistic; the view `subtype` shows the "
            "excluded and the other pairs",
            "seven pairs occur twice",
        ),
        [("sk", None, "slovak-gender", "data/slovak_gender.csv")],
        items={"sk": 223},
        control=("slovak-antistereotype",),
    ),
    build_upstream_dataset(
        "kinit-sk/bias-methodology",
        "slovak-antistereotype",
        "pairs",
        "the pairs of the data set slovak-gender with the opposite stereotype: a control",
        (BINARY,),
        [("sk", None, "slovak-gender-control", "data/slovak_gender.csv")],
        items={"sk": 223},
        why_control=f"the control has the same groups in sentences with the opposite stereotype; {_REVERSED}",
    ),
    build_upstream_dataset(
        "vergrig/RuBia-Dataset",
        "rubia",
        "pairs",
        "RuBia: 2,221 pairs written by Russian speakers about gender, class, nationality and LGBTQ people",
        (
            "215 pairs about gender occur twice: those of the subtypes freeform_family_stereotype and "
            "freeform_prof_stereotype are also in freeform_family_full and freeform_prof_full",
            "the subtype lgbtq: freeform_gendergap tests inclusive spellings, not stereotypes; its authors exclude it "
            "from their total",
            "the pairs about LGBTQ people were not checked by a second person",
            "pair 2161 has the same sentence twice",
        ),
        [("ru", None, "rubia-tsv", "rubia.tsv")],
        items={"ru": 2221},
    ),
)
