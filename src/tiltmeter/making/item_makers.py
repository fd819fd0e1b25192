"""Item makers list the texts of a source item to translate, and build the new item from the translations."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tiltmeter.datasets.gest_pair_builder import extract_quoted_speech, make_pair
from tiltmeter.forms import Form, Item, get_form
from tiltmeter.forms.blank import BLANK, fill_blank
from tiltmeter.forms.gendered_pairs import GenderedPairItem
from tiltmeter.forms.gest import get_stereotype_fields
from tiltmeter.making.project_store import TextRole

GENDERED_PAIRS = "gendered-pairs"
# The value of the setting `system` in projects whose items people write.
WRITTEN = "written"
# The name of the field for the translation that people write for a GEST sentence.
TRANSLATION = "translation"
NOT_TRANSLATED = "the translation is missing"
# English prompts that make a translation system choose a gender. The sentence replaces {}.
PROMPTS = {"masculine": 'He said: "{}"', "feminine": 'She said: "{}"'}


@dataclass(frozen=True, slots=True)
class TextToTranslate:
    """A text to translate; `role` and `field` say where its translation is stored.

    `has_blank` is true if the text is a context with BLANK.
    """

    role: TextRole
    field: str
    text: str
    has_blank: bool = False


@dataclass(frozen=True, slots=True)
class ItemRejection:
    """The reason why no item can be built from the translations."""

    reason: str


class ItemMaker(Protocol):
    """Lists the texts of source items to translate, and builds new items from the translations."""

    @property
    def form(self) -> Form[Any]:
        """The form of the new items."""

    def list_texts_to_translate(self, item: Item) -> list[TextToTranslate]:
        """Return the texts of a source item that must be translated."""

    def assemble(self, item: Item, language: str, texts: Mapping[str, str]) -> Item | ItemRejection:
        """Return the item in the new language, or the reason why the item cannot be built."""


@dataclass(frozen=True, slots=True)
class TranslatedItemMaker:
    """Makes an item of the same form from its translated texts.

    If `with_filled` is true, each candidate word is also translated inside the context.
    """

    form: Form[Any]
    with_filled: bool = True

    def list_texts_to_translate(self, item: Item) -> list[TextToTranslate]:
        """Return the translatable texts and, if `with_filled`, the context with each candidate word filled in."""
        texts = self.form.translatable(item)
        kinds = {field: self.form.text_kind(field) for field in texts}
        words = [field for field in texts if kinds[field] == "word"]
        context = next((text for field, text in texts.items() if kinds[field] == "context"), "")
        wanted = [
            TextToTranslate("alone" if field in words else "text", field, text, has_blank=bool(words) and BLANK in text)
            for field, text in texts.items()
        ]
        if self.with_filled and BLANK in context:
            wanted += [TextToTranslate("filled", field, fill_blank(context, texts[field])) for field in words]
        return wanted

    def assemble(self, item: Item, language: str, texts: Mapping[str, str]) -> Item | ItemRejection:
        """Return the item with its texts replaced by translations, or a rejection if a translation is missing."""
        missing = [field for field in self.form.translatable(item) if field not in texts]
        if missing:
            return ItemRejection(f"{NOT_TRANSLATED}: {', '.join(missing)}")
        made: Item = self.form.with_texts(item, language, texts)
        return made


@dataclass(frozen=True, slots=True)
class WrittenItemMaker:
    """Makes items from texts that people wrote. GEST sentences also have a translation that must show a gender."""

    form: Form[Any]

    def list_texts_to_translate(self, item: Item) -> list[TextToTranslate]:
        """Return the texts that people wrote; for a GEST sentence, also an empty text in the field `translation`."""
        texts = dict(self.form.texts(item))
        # In nested items, some texts are derived from other texts. Only the translatable texts were written by people.
        if not texts.keys() <= set(self.form.keys):
            texts = self.form.translatable(item)
        if self.form.name == "gest":
            texts[TRANSLATION] = ""
        return [TextToTranslate("text", field, text) for field, text in texts.items()]

    def assemble(self, item: Item, language: str, texts: Mapping[str, str]) -> Item | ItemRejection:  # noqa: ARG002
        """Return the item with its current texts, in the language in which it was written."""
        own = {field: text for field, text in texts.items() if field != TRANSLATION}
        made: Item = self.form.with_texts(item, item.language, own)
        return made


@dataclass(frozen=True, slots=True)
class GenderedPairMaker:
    """Makes a gendered pair from three translations of a GEST sentence.

    The sentence is translated alone, as the speech of a man, and as the speech of a woman.
    """

    prompts: Mapping[str, str]
    translator: str

    @property
    def form(self) -> Form[Any]:
        """The form of gendered pairs."""
        return get_form(GENDERED_PAIRS)

    def list_texts_to_translate(self, item: Item) -> list[TextToTranslate]:
        """Return the sentence alone, and the sentence inside the masculine and the feminine prompt."""
        sentence: str = item.sentence  # type: ignore[attr-defined]
        prompted = [
            TextToTranslate("text", gender, prompt.replace("{}", sentence)) for gender, prompt in self.prompts.items()
        ]
        return [TextToTranslate("text", "sentence", sentence), *prompted]

    def assemble(self, item: Item, language: str, texts: Mapping[str, str]) -> Item | ItemRejection:
        """Return the pair, or the reason why the filters of GEST's authors reject the pair."""
        sentence: str = item.sentence  # type: ignore[attr-defined]
        stereotype: int = item.stereotype  # type: ignore[attr-defined]
        own = get_stereotype_fields(item)  # type: ignore[arg-type]
        said = {
            gender: [extract_quoted_speech(texts[gender], sentence)] for gender in self.prompts if texts.get(gender)
        }
        pair = make_pair(texts.get("sentence", ""), said, language)
        if isinstance(pair, str):
            return ItemRejection(pair)
        by = self.translator
        return GenderedPairItem(item.id, language, stereotype, *pair, original=sentence, translator=by, **own)
