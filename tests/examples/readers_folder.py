"""The folder of a reader of the docs, with the models, data and other files that the pages use."""

import bz2
import csv
import json
import shutil
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from itertools import product
from pathlib import Path

import peft
import torch
from safetensors.torch import save_file
from torch import nn
from transformers import AutoModelForCausalLM, GPT2Model

import tiltmeter
from perf.breaking_engine import BreakingEngine
from perf.making_items import source_file
from tests.examples.tiny_hub import make_model, tokenizer
from tests.examples.written import blocks
from tests.models.served import train
from tests.models.tiny_gguf import write_gguf
from tests.runs.own_stereotypes import THREE, own_items
from tests.training.made_articles import made, write_html, write_jsonl
from tiltmeter.making.project import create_project
from tiltmeter.making.project_settings import write_settings
from tiltmeter.making.repair_step import repair_project
from tiltmeter.making.translation_step import translate_project

_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)
# The maximum number of items of each part and language.
LIMIT = 4
_SLOVAK = ["Bol som doma.", "Bola som doma.", "Som doma.", "Spal som.", "Spala som.", "Spím.", "Videl som strom."]
# Three models, one of them with two protocols.
_PREDICTED = (
    *("gpt2_GPT2LM_GPT2LM_d", "gpt2__GPT2LM_orig"),
    *("bert-base-cased_BertLM_BertNextSentence", "t5-base_T5LM_ModelNSP"),
)
_PREDICTIONS = "slds-lmu/stereotypes-multi/results/predictions"
# Files of the mirror that the authors of GEST, WinoMT and StereoSet released, by their names in the docs.
_RELEASED = {
    "deepl-sk.csv": "kinit-sk/gest/data/translations/deepl/sk/translations.csv",
    "english_mlm": "kinit-sk/gest/data/predictions/english_mlm",
    "english_glm": "kinit-sk/gest/data/predictions/english_glm",
    "en-es.txt": "gabrielStanovsky/mt_gender/translations/google/en-es.txt",
    "gpt2_GPT2LM_GPT2LM_d_en.json": f"{_PREDICTIONS}/gpt2_GPT2LM_GPT2LM_d_en.json",
    "df_intrasentence_it.pkl": "slds-lmu/stereotypes-multi/create_dataset/data/intrasentence/df_intrasentence_tr.pkl",
}


def make_folder(folder: Path, mirror: Path, hub: Path) -> Path:
    """Write all files, and return the folder."""
    folder.mkdir()
    _models(folder, hub)
    _data(folder)
    _articles(folder)
    _project(folder)
    _released_head(folder, hub)
    (folder / "results" / "predictions").mkdir(parents=True)
    for model in _PREDICTED:
        (folder / "results" / "predictions" / f"{model}_en.json").symlink_to(mirror / _PREDICTIONS / f"{model}_en.json")
    for name, path in _RELEASED.items():
        (folder / name).symlink_to(mirror / path)
    return folder


def _models(folder: Path, hub: Path) -> None:
    train(folder / "my-model", positions=1024)
    make_model("bert", "model", folder / "model")
    make_model("gpt2", "instruct", folder / "my-instruct-model")
    instruct = copy(tokenizer("causal"))
    instruct.chat_template = _TEMPLATE
    instruct.save_pretrained(folder / "my-instruct-model")
    write_gguf(folder / "model.gguf", positions=1024, chat_template=_TEMPLATE)
    shutil.copy(folder / "model.gguf", folder / "model.Q4_K_M.gguf")
    base = AutoModelForCausalLM.from_pretrained(hub / "gpt2")
    base.name_or_path = "gpt2"
    adapted = peft.get_peft_model(base, peft.LoraConfig(r=2, target_modules=["c_attn"], fan_in_fan_out=True))
    torch.manual_seed(1)
    for name, parameter in adapted.named_parameters():
        if "lora_" in name:
            parameter.data.normal_()
    adapted.peft_config["default"].base_model_name_or_path = "gpt2"
    adapted.save_pretrained(folder / "my-lora")
    save_file({"layer.0": torch.ones(base.config.hidden_size)}, folder / "fair.safetensors")
    (folder / "fair.txt").write_text("Treat all people equally.", encoding="utf-8")
    (folder / "sentences.txt").write_text("My aunt knits.\nMy uncle knits.\n", encoding="utf-8")


def _released_head(folder: Path, hub: Path) -> None:
    """Write files in the format of the released heads, for THUMT/mGPT of the hub."""
    core = GPT2Model.from_pretrained(hub / "THUMT" / "mGPT")
    core.resize_token_embeddings(core.config.vocab_size + 1)  # for <PAD>
    head = nn.Sequential(nn.Linear(16, 300), nn.Linear(300, 300), nn.Linear(300, 2))
    state = {f"module.core_model.{name}": tensor for name, tensor in core.state_dict().items()}
    state |= {f"module.nsp_head.{name}": tensor for name, tensor in head.state_dict().items()}
    for name in ("mgpt_FINAL.pth", "gpt2_110000_FINAL.pth"):
        torch.save(state, folder / name)


def json_blocks(page: str) -> list[str]:
    """Return the JSONL files that a page prints."""
    return [block.text for block in blocks(page) if block.text.startswith("{") and block.kind in ("", "json")]


def _data(folder: Path) -> None:
    """Write files of items, among them those that README and docs/reference/file-formats.md print."""
    (folder / "mine.jsonl").write_text(json_blocks("README.md")[0], encoding="utf-8")
    names = [
        "items",
        "pairs",
        "gest",
        "gendered-pairs",
        "winobias",
        "questions",
        "words",
        "stories",
        "prompts",
        "mt",
        "winomt",
    ]
    for name, text in zip(names, json_blocks("docs/reference/file-formats.md"), strict=True):
        (folder / f"my-{name}.jsonl").write_text(text, encoding="utf-8")
    texts = (block.text for block in blocks("docs/how-to/own-prompts.md") if block.kind == "text")
    for name, text in zip(("prompts.csv", "prompts.groups.csv"), texts, strict=False):
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "my-edition").mkdir()
    write_jsonl(folder / "my-edition" / "items.jsonl", own_items(THREE))
    (folder / "translations.txt").write_text("\n".join(_SLOVAK), encoding="utf-8")
    (folder / "family.txt").write_text("my\nfamily\nchildren\nmother\nfather\n", encoding="utf-8")
    _stereoset_json(folder / "dev.json")
    _csv(folder / "stereotypes.csv", [("identity", "attribute"), ("Norweger", "pünktlich"), ("Belgier", "spontan")])
    _csv(folder / "ana.csv", [("about", "sentence", "translation"), ("4", "I tidied the room.", "Upratala som izbu.")])
    sentences = tiltmeter.datasets.load("mt-geneval", language="de")
    rows = ((f"{item.context} {item.source}".strip(), f"{item.context} {item.correct}".strip()) for item in sentences)
    _csv(folder / "made.csv", [("from", "to"), *rows])


def _stereoset_json(path: Path) -> None:
    """Write a file in the format of StereoSet's dev.json with one item."""
    sentences = {"stereotype": "gentle", "anti-stereotype": "gruff", "unrelated": "wooden"}
    written = [
        {"id": f"s-{role}", "gold_label": role, "sentence": f"The nurse was {word}.", "labels": []}
        for role, word in sentences.items()
    ]
    item = {"id": "n1", "target": "nurse", "bias_type": "profession", "context": "The nurse was BLANK."}
    content = {"version": "1.0", "data": {"intrasentence": [{**item, "sentences": written}], "intersentence": []}}
    path.write_text(json.dumps(content), encoding="utf-8")


class _OtherTerms(BreakingEngine):
    """A system that translates two terms alone differently than in sentences: another form, and another word."""

    @property
    def key(self) -> str:
        return "other terms"

    def translate(self, texts: Sequence[str], language: str) -> list[str]:
        terms = {"jardinero": "jardinera", "cantante": "artista"}
        return [terms.get(text, text) for text in super().translate(texts, language)]


def _project(folder: Path) -> None:
    """Create a translated project with the items `i0` to `i3`, of which two are open."""
    source = source_file(folder / "source.jsonl")
    with create_project(folder / "review" / "my-es", source, language="es", system="apertium:eng-spa") as project:
        project.settings = replace(project.settings, licence="CC0-1.0")
        write_settings(folder / "review" / "my-es", project.settings)
        translate_project(project, _OtherTerms())
        repair_project(project)


def _csv(path: Path, rows: Iterable[tuple[str, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def _turkish(articles: int) -> dict[str, list[str]]:
    """Return Turkish articles of six different sentences."""
    who = ["Komşumuz", "Öğretmen", "Bahçıvan", "Yaşlı kaptan", "Fırıncı", "Bir ziyaretçi"]
    when = ["sabah erkenden", "kahvaltıdan önce", "konserden sonra", "istasyonun yanında", "hiç acele etmeden"]
    what = ["yeşil kapıyı", "küçük tekneyi", "mutfak penceresini", "uzun mektubu", "tahta sandalyeyi", "elma ağacını"]
    does = ["açıyor", "boyuyor", "onarıyor", "taşıyor", "hatırlıyor", "satıyor", "buluyor", "temizliyor"]
    sentences = [" ".join(words) + "." for words in product(who, when, what, does)]
    return {f"Madde {number}": sentences[number :: len(sentences) // 6][:6] for number in range(articles)}


def _articles(folder: Path) -> None:
    for language in ("en", "de"):
        articles = made(language, 12)
        write_html(folder / "help" / language, articles)
    rows = [{"id": id, "language": "en", "sentences": sentences} for id, sentences in made("en", 12, seed=1).items()]
    write_jsonl(folder / "news.jsonl", rows)
    pages = "".join(
        f"<page><title>{id}</title><ns>0</ns><id>{number}</id>"
        f"<revision><text>{' '.join(sentences)}</text></revision></page>"
        for number, (id, sentences) in enumerate(_turkish(40).items())
    )
    dump = f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/">{pages}</mediawiki>'
    (folder / "trwiki-latest-pages-articles.xml.bz2").write_bytes(bz2.compress(dump.encode()))


def words_of(mirror: Path) -> list[str]:
    """Return sentences whose words are tokens of the multilingual models, so that pairs can differ in one token."""
    with (mirror / _RELEASED["deepl-sk.csv"]).open(encoding="utf-8", newline="") as file:
        return [*_SLOVAK, *(row["to"] for row in csv.DictReader(file))]


def fill_in(file: Path, text: str) -> None:
    """Write a TOML file that a page prints; of `project.toml`, only the printed keys are replaced.

    A plan gets few items and no GPU.
    """
    file.parent.mkdir(exist_ok=True)
    if file.name == "plan.toml":
        text = text.replace("limit = 200", f"limit = {LIMIT}").replace("gpus = 1", "gpus = 0")
    if file.name == "project.toml":
        keys = {line.partition("=")[0].strip() for line in text.splitlines()}
        kept = [line for line in file.read_text("utf-8").splitlines() if line.partition("=")[0].strip() not in keys]
        text = "\n".join([text, *kept])
    file.write_text(text, encoding="utf-8")
