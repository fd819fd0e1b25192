"""Every printed number has a source, and file names are those of the released files."""

from collections import Counter

import pytest

from tiltmeter.datasets.upstream_files import load_repositories
from tiltmeter.papers.printed_numbers import load_papers, read_printed_numbers
from tiltmeter.papers.sources import gest_scores, gest_translations, oeztuerk
from tiltmeter.papers.sources.gest_tables import average_rates
from tiltmeter.papers.sources.source_lookup import find_source
from tiltmeter.papers.sources.table_facts import summarize_printed_tables
from tiltmeter.papers.sources.text_numbers import count_released_files

NUMBERS = [number for paper in load_papers().values() for number in read_printed_numbers(paper)]

# The names of released files: at least one for each naming scheme.
STEREOSET = {
    ("oeztuerk2023", "BERT", "en"): "bert-base-cased_BertLM_BertNextSentence_en.json",
    ("oeztuerk2023", "BERT", "de"): "dbmdz_bert-base-german-cased_BertLM_BertNextSentence_de.json",
    ("oeztuerk2023", "BERT", "fr"): "flaubert_flaubert_base_cased_BertLM_BertNextSentence_fr.json",
    ("oeztuerk2023", "BERT", "es"): "dccuchile_bert-base-spanish-wwm-cased_BertLM_BertNextSentence_es.json",
    ("oeztuerk2023", "GPT-2", "es"): "PlanTL-GOB-ES_gpt2-base-bne_GPT2LM_GPT2LM_d_es.json",
    ("oeztuerk2023", "T5", "de"): "GermanT5_t5-efficient-gc4-german-base-nl36_T5LM_ModelNSP_de.json",
    ("oeztuerk2023", "mBERT", "tr"): "bert-base-multilingual-cased_BertLM_BertNextSentence_tr.json",
    ("oeztuerk2023", "mGPT-2", "fr"): "THUMT_mGPT_GPT2LM_GPT2LM_d_fr.json",
    ("oeztuerk2023", "mT5", "es"): "google_mt5-base_mT5LM_ModelNSP_es.json",
    ("oeztuerk2023", "GPT-2 (NSP)", "en"): "gpt2_GPT2LM_ModelNSP_en.json",
    ("oeztuerk2023", "GPT-2 (gen_orig)", "en"): "gpt2__GPT2LM_orig_en.json",
    ("oeztuerk2023", "T5 (gen)", "en"): "t5-base_T5LM_T5LM_en.json",
    ("oeztuerk2023", "mGPT-2 (gen_orig)", "de"): "THUMT_mGPT__GPT2LM_orig_de.json",
    ("oeztuerk2023", "mT5 (gen)", "de"): "google_mt5-base_mT5LM_mT5LM_de.json",
    ("oeztuerk2022", "GPT-2 Generative c", ""): "gpt2_GPT2LM_GPT2LM_c_en.json",
    ("oeztuerk2022", "GPT-2 Generative e", ""): "gpt2__GPT2LM_e_en.json",
    ("oeztuerk2022", "mGPT-2 Generative e German", ""): "THUMT_mGPT__GPT2LM_e_de.json",
    ("oeztuerk2022", "mGPT-2 Generative c English", ""): "THUMT_mGPT_GPT2LM_GPT2LM_c_en.json",
    ("oeztuerk2022", "mGPT-2 NSP German", ""): "THUMT_mGPT_GPT2LM_ModelNSP_de.json",
    ("oeztuerk2022", "mT5 Generative English", ""): "google_mt5-base_mT5LM_mT5LM_en.json",
}


@pytest.mark.parametrize(("cell", "file"), STEREOSET.items(), ids=STEREOSET.values())
def test_names_of_stereoset_predictions(cell: tuple[str, str, str], file: str) -> None:
    assert oeztuerk.load_rows()[cell].file == file
    assert f"results/predictions/{file}" in load_repositories()["slds-lmu/stereotypes-multi"].files


@pytest.mark.parametrize(
    ("table", "system", "template", "file"),
    [
        ("9", "bert-base", "1", "english_mlm/bert-base-uncased_template-0.txt"),
        ("9", "albert-base", "4", "english_mlm/albert-base-v2_template-3.txt"),
        ("9", "electra-large", "2", "english_mlm/electra-large-generator_template-1.txt"),
        ("9", "xlm-v-base", "3", "english_mlm/xlm-v-base_template-2.txt"),
        ("9", "bert-base-multi", "1", "english_mlm/bert-base-multilingual-cased_template-0.txt"),
        ("10", "gpt2", "1", "english_glm/gpt2_template-0.txt"),
        ("10", "phi-1_5", "2", "english_glm/phi-1_5_template-1.txt"),
        ("10", "Mistral-7B-Instruct-v0.2", "1", "english_glm/Mistral-7B-Instruct-v0.2_template-0.txt"),
        ("10", "Llama-2-13b-chat-hf", "2", "english_glm/Llama-2-13b-chat-hf_template-1.txt"),
        ("11", "facebook/xlm-roberta-xl", "", "slavic_mlm/xlm-roberta-xl.txt"),
    ],
)
def test_names_of_gest_predictions(table: str, system: str, template: str, file: str) -> None:
    wanted = {"system": system, "template": template}.items()
    number = next(n for n in NUMBERS if n.table == table and wanted <= dict(n.cell).items())
    recipe = find_source(number).recipe
    assert recipe is not None
    assert recipe.name == f"data/predictions/{file}"


@pytest.mark.parametrize(
    ("system", "folder"),
    [
        ("AmazonTranslate", "amazon_translate"),
        ("DeepL", "deepl"),
        ("GoogleTranslate", "google_translate"),
        ("NLLB", "nllb_3b"),
    ],
)
@pytest.mark.parametrize("table", ["6", "8"])
def test_names_of_translations(table: str, system: str, folder: str) -> None:
    number = next(
        n for n in NUMBERS if n.table == table and (n.cell.get("system"), n.cell["language"]) == (system, "sl")
    )
    assert find_source(number).recipe == gest_translations.build_recipe(folder, "sl")


def test_every_number_has_a_source_of_which_every_file_is_pinned() -> None:
    pinned = {
        path.rpartition("results/predictions/")[2]
        for repository in load_repositories().values()
        for path in repository.files
    }
    unreleased: Counter[str] = Counter()
    for number in NUMBERS:
        source = find_source(number)
        if source.recipe is None:
            assert source.lacking.endswith(".")
            unreleased[number.paper.key] += 1
        elif source.recipe.compute not in (average_rates, summarize_printed_tables, count_released_files):
            assert source.recipe.name.partition(" and ")[0] in pinned
    # Two of the six methods in the thesis's Table 3.4, all model results of Steinborn et al., and GEST's
    # judgements of translations.
    assert unreleased == {"oeztuerk2022": 6, "steinborn2022": 170, "gest2024": 9}


def test_every_number_can_be_had_from_a_model_or_says_why_not() -> None:
    lacking: Counter[str] = Counter()
    for number in NUMBERS:
        source = find_source(number, from_models=True)
        if source.recipe is None:
            lacking[source.lacking] += 1
    reasons = (
        "lowercase text",
        "RuBia's perplexities",
        "only from released predictions",
        "behind an API",
    )
    assert len(lacking) == len(reasons)
    assert all(any(words in reason for reason in lacking) for words in reasons)


def test_causal_models_have_the_last_two_templates() -> None:
    assert gest_scores.build_run("10", "gpt2", "1").name == "gpt2 on gest-1.0/template-3:en"
    assert gest_scores.build_run("9", "roberta-base", "1").name == "roberta-base on gest-1.0/template-1:en"
