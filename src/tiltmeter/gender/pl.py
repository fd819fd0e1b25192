"""Polish: the verb itself says who speaks and in which gender: *przyszłam*, *zrobiłbym*, *byłem zmęczony*."""

import re
from collections.abc import Iterator, Sequence

from tiltmeter.gender.engine import FEMININE, MASCULINE, Cue, Gender, by_endings, clauses, is_word, words

# Past tense and conditional with their personal endings, and "should", which is built like them.
PAST = by_endings(
    "łem|łbym|^powinienem|^winienem",
    "łam|łabym|^powinnam|^winnam",
    but=words(
        # instrumentals of nouns in -ł and -ło
        """stołem zespołem kościołem żywiołem aniołem wołem artykułem tytułem szczegółem ogółem mułem tyłem pyłem węzłem
        pomysłem umysłem przemysłem zmysłem materiałem kapitałem kanałem generałem oryginałem potencjałem szałem zapałem
        kawałem upałem sygnałem działem udziałem podziałem rozdziałem wydziałem przedziałem ciałem dziełem krzesłem
        hasłem źródłem światłem masłem mydłem szkłem tłem złem kołem czołem dołem gardłem skrzydłem pudłem rzemiosłem
        prawidłem popiołem diabłem osłem orłem kotłem ideałem festiwalem strzałem finałem rytuałem serialem ładem
        wałem skandalem protokołem symbolem futbolem cudem kryształem hotelem rozgardiaszem metalem metrem mózgiem
        dziecięciem siłem chwałem dzięciołem stadłem tłumem zawałem żywiołem medalem półkolem duszpasterstwem"""
        # presents in -łam
        """ działam oddziałam wysyłam przesyłam posyłam nasyłam odsyłam zsyłam dosyłam rozsyłam wołam zwołam powołam
        odwołam przywołam wywołam pałam kłam załam złam"""
    ),
)

# "Gdybym był", "żebym mogła", "będę pracował": the person is on another word than the gender.
MOBILE = words("gdybym żebym abym bym jakbym obym jeślibym choćbym niechbym ażebym byłobym będę")

PARTICIPLE = by_endings(
    "ł",
    "ła",
    but=words(
        """szkoła siła skała chwała pół stół dół kół ogół zespół kościół żywioł anioł artykuł tytuł szczegół ból
        materiał kapitał kanał generał oryginał potencjał szał zapał kawał upał sygnał dział udział podział rozdział
        wydział przedział ciała dzieła krzesła hasła źródła światła masła mydła szkła tła zła koła czoła mgła igła
        pszczoła strzała cała mała biała miła stała pomysł umysł przemysł zmysł węzeł tył pył muł diabeł osioł kocioł
        rytuał finał ideał strzał kryształ protokół krzeseł sił szkół stodoła chałupa"""
    ),
)

# A predicate noun is in the instrumental, and its adjectives too ("jestem dobrym lekarzem"),
# so a nominative adjective beside the copula is always said of the speaker.
ADJECTIVE = by_endings(
    "[nwrłtsdbmżp]y|[sżc]zy|ący|[kg]i|[dt]ni",
    "[nwrłtsdbmżp]a|[sżc]za|ąca|[kg]a|[dt]nia",
    men=words("gotów pewien pełen zdrów wesół świadom ciekaw winien wart żyw pierwszy cudzy głupi"),
    women=words("głupia"),
    but=words(
        """jaki jaka każdy każda żadna kiedy wtedy nigdy gdy oby aby żeby trzeba chyba która sama
        kobieta mama tata matka córka siostra żona osoba głowa modelka kucharka nauczycielka pielęgniarka dziewczyna
        mężczyzna artysta fanka prawda ofiara sprawa praca"""
    ),
)

COPULAS = words("jestem będę być bywam")
FEELING = words("czuję poczuję czułbym")  # only with "się"

FUNCTION_WORDS = words(
    """a aby ale ani albo bardziej bardzo bo by ci co coraz czasami czasem często dla dość dotąd dziś dzisiaj go i ja
    już jednak jeszcze jak kiedyś ktoś lub mi mnie mniej mną może na najbardziej naprawdę nawet nie niech nigdy nikogo
    niczego nim o od około on oraz po pod poza przed przez przy raczej się sobie siebie sobą tak taki taka także też
    tego tej teraz to tobą ten ta trochę tu tam tym tymi u w we wciąż wtedy z za zawsze zbyt ze znacznie zupełnie ja
    już całkiem tylko wszystkim wszystkich dzięki temu"""
)

PREPOSITIONS = words(
    """bez dla do ku między na nad o obok od po pod poza podczas przed przez przy spod u w we wobec według wśród z za
    ze zza oprócz mimo dzięki"""
)

AGREEING: dict[str, Gender] = {"sam": MASCULINE, "sama": FEMININE}

# "The same", "than I myself", "of itself": no word on the speaker.
NOT_AGREEING_AFTER = words("ten ta taki taka tym tej siebie sobie sobą niż jak jako")

# Another subject, or nobody: then neither "sam" nor an infinitive "być" speaks of the speaker.
OTHER_SUBJECT = words(
    "on ona ono oni to mój moja mąż żona partner jest był była musi może powinien powinna kto który która ktoś każdy"
)
OTHER_PERSON = re.compile(r"(?:[aeiy]sz|łeś|łaś)$")

OPENERS = words("że żeby gdy kiedy ponieważ bo gdyż jeśli")


class PolishGrammar:
    """The rules of Polish, as a grammar with cues."""

    def cues(self, sentence: Sequence[str]) -> Iterator[Cue]:
        """Every cue of a sentence, clause by clause."""
        for start, end in clauses(sentence, OPENERS):
            other = any(word in OTHER_SUBJECT or OTHER_PERSON.search(word) for word in sentence[start:end])
            for position in range(start, end):
                cue = self._cue(sentence, position, start, end, other)
                if cue:
                    yield cue

    def _cue(self, sentence: Sequence[str], position: int, start: int, end: int, other: bool) -> Cue | None:
        word = sentence[position]
        before = sentence[position - 1] if position > start else ""
        if gender := PAST(word):
            return None if before in PREPOSITIONS else Cue(gender, (word,), "past tense", position)
        if word in MOBILE and (found := self._participle(sentence, position, start, end)):
            participle, gender = found
            return Cue(gender, (word, sentence[participle]), "participle", participle)
        copula = word in COPULAS or (word in FEELING and "się" in sentence[max(start, position - 2) : position + 2])
        if copula and not (word == "być" and other):
            found = self._predicate(sentence, position, start, end)
            if found:
                adjective, gender = found
                return Cue(gender, (word, sentence[adjective]), "predicate adjective", adjective)
        if word in AGREEING and before not in NOT_AGREEING_AFTER and not other:
            return Cue(AGREEING[word], (word,), "agreeing word", position)
        return None

    @staticmethod
    def _participle(sentence: Sequence[str], at: int, start: int, end: int) -> tuple[int, Gender] | None:
        found = [(position, gender) for position in range(start, end) if (gender := PARTICIPLE(sentence[position]))]
        return min(found, key=lambda participle: abs(participle[0] - at), default=None)

    @staticmethod
    def _predicate(sentence: Sequence[str], at: int, start: int, end: int) -> tuple[int, Gender] | None:
        """The adjective right after the copula, past adverbs and short prepositional phrases, or right before it."""
        for position in range(at + 1, end):
            word, before = sentence[position], sentence[position - 1]
            if word in FUNCTION_WORDS or word in PREPOSITIONS:
                continue
            if before in PREPOSITIONS:
                continue
            if gender := ADJECTIVE(word):
                return position, gender
            if not is_word(word) or not word.endswith(("o", "ie", "ej", "le")):
                break
        if at > start and (gender := ADJECTIVE(sentence[at - 1])):
            return at - 1, gender
        return None


GRAMMAR = PolishGrammar()
