"""Apertium, the rule-based system, as a program on this machine."""

import hashlib
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from tiltmeter.errors import ModelError, UsageError
from tiltmeter.translators.base import SOURCE, THREE_LETTERS

PROGRAM = "apertium"
# Croatian and Serbian are one language to Apertium.
_UNDER = {"hr": "hbs", "sr": "hbs"}


class ApertiumTranslator:
    """One translation direction of Apertium, such as eng-spa."""

    price = None
    batch_size = 50

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.name = f"apertium:{mode}"
        if shutil.which(PROGRAM) is None:
            raise UsageError(
                "Apertium is not installed; on Debian and Ubuntu get it with `apt install apertium apertium-eng-spa`, "
                "or the package of your languages."
            )
        there = _run(["-l"], "").split()
        if mode not in there:
            raise UsageError(
                f"Apertium has no direction {mode!r} here; it has {', '.join(there) or 'none'}. Install the package of "
                "your languages, such as apertium-eng-spa."
            )

    @cached_property
    def key(self) -> str:
        """The program's version and a hash of its dictionaries and rules, as far as they can be found."""
        version = _run(["-V"], "").strip()
        digest = hashlib.sha256()
        for file in _data_files(self.mode):
            digest.update(file.read_bytes())
        return f"apertium {self.mode} {version} {digest.hexdigest()[:16]}"

    def check(self, language: str) -> None:
        """Refuse a language that the direction does not lead to, or one from elsewhere than English."""
        source, _, target = self.mode.partition("-")
        codes = {language, THREE_LETTERS.get(language), _UNDER.get(language)}
        if source not in (SOURCE, THREE_LETTERS[SOURCE]) or target.partition("_")[0] not in codes:
            raise UsageError(f"Apertium's direction {self.mode} does not lead from English to {language!r}.")

    def translate(self, texts: Sequence[str], language: str) -> list[str]:  # noqa: ARG002 - the mode has it
        """The translations, in one go of the program; unknown words are left as they are."""
        # One line is one text: a line break within a text would make two of it.
        lines = [" ".join(text.split()) for text in texts]
        found = _run(["-u", self.mode], "\n".join(lines) + "\n").splitlines()
        return [" ".join(line.split()) for line in found]


def _run(arguments: Sequence[str], text: str) -> str:
    done = subprocess.run(
        [PROGRAM, *arguments], check=False, input=text, capture_output=True, text=True, encoding="utf-8"
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0].rstrip(".")
        raise ModelError(f"Apertium failed: {reason}.")
    return done.stdout


def _data_files(mode: str) -> list[Path]:
    """The files that the direction's pipeline names."""
    program = Path(shutil.which(PROGRAM) or PROGRAM).resolve()
    pipeline = program.parents[1] / "share" / "apertium" / "modes" / f"{mode}.mode"
    if not pipeline.is_file():
        return []
    named = re.findall(r"'([^']+)'", pipeline.read_text(encoding="utf-8"))
    return [pipeline, *(path for path in map(Path, named) if path.is_file())]
