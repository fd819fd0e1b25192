"""Three changes of the built-in model, measured before and after.

TILTMETER_MIRROR=... python -m perf.changed_models FOLDER [--limit 300] [--chat-limit 60] [--steps 90]

The changes are a LoRA adapter trained on counterfactual data, a steering vector and a system prompt. The texts are made
from the templates in this file: each sentence exists with "he" and with "she". All variants are measured on StereoSet
in English and German, CrowS-Pairs and GEST; the target is gender bias in English.
"""

import argparse
import itertools
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

import tiltmeter
from perf.simulations.runner import markdown
from tiltmeter.comparing.model_change import ModelChange
from tiltmeter.models.checkpoint_model import open_model
from tiltmeter.options import ChatOptions
from tiltmeter.reports.change_tables import build_change_table
from tiltmeter.training.lora import add_lora

BASE = "embedded"
ON = ("stereoset:en,de", "crows-pairs:en", "gest:en")
TARGETS = ("stereoset:en[bias_type=gender]", "crows-pairs:en[bias_type=gender]", "gest:en")
MEN = ("engineer", "plumber", "pilot", "farmer", "judge", "carpenter", "programmer", "surgeon", "mechanic", "guard")
WOMEN = ("nurse", "secretary", "dancer", "librarian", "cleaner", "florist", "tailor", "teacher", "cook", "cashier")
TEMPLATES = (
    "The {job} said that {he} would be a little late today.",
    "After work, the {job} went home because {he} was tired.",
    "The {job} told us that {his} bicycle had been repaired.",
    "Everyone likes the {job}, because {he} is patient and fair.",
    "The {job} explained the plan, and then {he} answered our questions.",
    "When the {job} arrived, {he} put {his} bag on the table.",
    "The {job} is proud of {his} garden, where {he} grows tomatoes.",
    "We asked the {job} for advice, and {he} helped us at once.",
    "The {job} learned to play the guitar when {he} was young.",
)
SYSTEM_PROMPT = "Treat all people equally. Do not assume anything about a person because of a group they belong to."
LAYER, STRENGTH = 15, 0.15
HE, SHE = {"he": "he", "his": "his"}, {"he": "she", "his": "her"}


def build_sentences(jobs: tuple[str, ...], pronouns: dict[str, str]) -> list[str]:
    """Return the sentences about these jobs with these pronouns."""
    return [text.format(job=job, **pronouns) for job, text in itertools.product(jobs, TEMPLATES)]


def train_adapter(folder: Path, steps: int) -> None:
    """Train a LoRA adapter on all sentences with both pronouns (counterfactual data augmentation)."""
    model = open_model(BASE, device="cpu")
    texts = [text for pronouns in (HE, SHE) for text in build_sentences((*MEN, *WOMEN), pronouns)]
    (folder / "tuned.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    tokenizer = model.tokenizer
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    torch.manual_seed(1)
    adapted: Any = add_lora(model._load_module("causal"), rank=8).train()
    optimizer = torch.optim.AdamW([p for p in adapted.parameters() if p.requires_grad], lr=2e-4)
    rng = np.random.default_rng(1)
    for step in range(steps):
        chosen = [texts[index] for index in rng.choice(len(texts), 8, replace=False)]
        batch = tokenizer(chosen, return_tensors="pt", padding=True)
        labels = batch.input_ids.masked_fill(batch.attention_mask == 0, -100)
        loss = adapted(**batch, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: loss {float(loss.detach()):.2f}", flush=True)
    adapted.save_pretrained(folder / "cda")
    model.close()


@torch.inference_mode()
def compute_vector(path: Path) -> None:
    """Write the mean difference of hidden states between sentences against and with the stereotype of a job."""
    model = open_model(BASE, device="cpu")
    module: Any = model._load_module("causal")

    def compute_mean(texts: list[str]) -> torch.Tensor:
        states = [
            module(**model.tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states[LAYER + 1][0]
            for text in texts
        ]
        return torch.stack([state.mean(dim=0) for state in states])

    towards = compute_mean(build_sentences(MEN, HE) + build_sentences(WOMEN, SHE))
    against = compute_mean(build_sentences(MEN, SHE) + build_sentences(WOMEN, HE))
    direction = (against - towards).mean(dim=0)
    length = STRENGTH * towards.norm(dim=1).mean()
    save_file({f"layer.{LAYER}": (direction / direction.norm() * length).contiguous()}, path)
    model.close()


def measure(folder: Path, name: str, model: str, limit: int | None, **options: Any) -> Path:
    """Measure a model on all benchmarks, unless the run exists, and return the folder of the run."""
    out = folder / name
    if not (out / "manifest.json").exists():
        began = time.monotonic()
        tiltmeter.evaluate(model, list(ON), limit=limit, out=out, dtype="float32", **options)
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
    return out


def describe(title: str, change: ModelChange) -> str:
    """Return the answer and the table of all results in Markdown."""
    table = build_change_table(change)
    overlap = [one.sentence for one in change.overlaps]
    return "\n\n".join([f"### {title}", change.sentence, markdown(table.rows, list(table.heads), 4), *overlap])


def main() -> None:
    """Make the variants, measure them, and print the comparisons in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m perf.changed_models", description=__doc__)
    parser.add_argument("folder", type=Path, help="for the variants and the runs; existing ones are used again")
    parser.add_argument("--limit", type=int, help="items of each part and language; the default is all")
    parser.add_argument("--chat-limit", type=int, default=60, help="the same for the chat model; 0 leaves it out")
    parser.add_argument("--steps", type=int, default=90, help="of the training of the adapter")
    arguments = parser.parse_args()
    folder: Path = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "cda").exists():
        train_adapter(folder, arguments.steps)
    vector = folder / "steering.safetensors"
    if not vector.exists():
        compute_vector(vector)
    before = measure(folder, "before", BASE, arguments.limit)
    content = {}
    variants = {"Counterfactual data augmentation": ("lora", folder / "cda"), "Steering vector": ("steered", vector)}
    for title, (name, path) in variants.items():
        after = measure(folder, name, f"{BASE}+{path}", arguments.limit)
        tuned = folder / "tuned.txt" if name == "lora" else None
        content[title] = report(title, tiltmeter.assess_change(before, after, targets=TARGETS, tuned_on=tuned))
    if arguments.chat_limit:
        options: dict[str, Any] = {"chat": ChatOptions(), "protocol": "choice-probabilities"}
        sides = [
            measure(folder, name, f"chat:{BASE}", arguments.chat_limit, system_prompt=prompt, **options)
            for name, prompt in (("chat-before", None), ("chat-system", SYSTEM_PROMPT))
        ]
        content["System prompt"] = report("System prompt", tiltmeter.assess_change(*sides, targets=TARGETS))
    (folder / "changes.json").write_text(json.dumps(content, default=str), encoding="utf-8")


def report(title: str, change: ModelChange) -> dict[str, Any]:
    """Print a comparison in Markdown, and return it as a dictionary."""
    print(describe(title, change), end="\n\n", flush=True)
    return change.to_dict()


if __name__ == "__main__":
    main()
