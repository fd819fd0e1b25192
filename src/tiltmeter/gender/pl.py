"""The speaker's gender in Polish. Past verbs mark person and gender: *przyszłam*, *zrobiłbym*, *byłem zmęczony*."""

import re
from collections.abc import Iterator, Sequence

from tiltmeter.gender.clauses import (
    Clause,
    Cue,
    Gender,
    PredicateAdjectives,
    build_ending_rule,
    build_noun_rule,
    map_genders,
    parse_words,
    split_clauses,
)

# First-person verbs in the past tense and the conditional, and forms of "should", which have the same endings.
PAST = build_ending_rule(
    "łem|łbym",
    "łam|łabym",
    masculine_words=parse_words("powinienem winienem powinienbym"),
    feminine_words=parse_words("powinnam winnam powinnabym"),
    exceptions=parse_words(
        # Nouns in -ł and -ło, whose instrumental looks like a past verb.
        """stołem zespołem kościołem żywiołem aniołem wołem artykułem tytułem szczegółem ogółem mułem tyłem pyłem
        węzłem pomysłem umysłem przemysłem zmysłem materiałem kapitałem kanałem generałem oryginałem potencjałem
        szałem zapałem kawałem upałem sygnałem działem udziałem podziałem rozdziałem wydziałem przedziałem ciałem
        dziełem krzesłem hasłem źródłem światłem masłem mydłem szkłem tłem złem kołem czołem dołem gardłem skrzydłem
        pudłem rzemiosłem popiołem diabłem osłem orłem kotłem ideałem strzałem finałem rytuałem wałem protokołem
        kryształem dzięciołem zawałem"""
        # Present-tense verbs in -łam, which look like past verbs.
        """ działam oddziałam wysyłam przesyłam posyłam nasyłam odsyłam zsyłam dosyłam rozsyłam wołam zwołam powołam
        odwołam przywołam wywołam pałam kłam złam załam"""
    ),
)

# Words that mark the first person, but not the gender. A participle in the same clause marks the gender: "gdybym był",
# "żebym mogła", "będę pracował".
MOBILE = parse_words("gdybym żebym abym bym jakbym obym jeślibym choćbym ażebym iżbym żem będę")

PARTICIPLE = build_ending_rule(
    "ł",
    "ła",
    exceptions=parse_words(
        """szkoła siła skała chwała pół stół dół kół ogół zespół kościół żywioł anioł artykuł tytuł szczegół materiał
        kapitał kanał generał oryginał potencjał szał zapał kawał upał sygnał dział udział podział rozdział wydział
        przedział ciała dzieła krzesła hasła źródła światła masła mydła szkła tła zła koła czoła mgła igła pszczoła
        strzała cała mała biała miła stała pomysł umysł przemysł zmysł węzeł tył pył muł diabeł osioł kocioł rytuał
        finał ideał strzał kryształ protokół krzeseł sił szkół stodoła"""
    ),
)

PREPOSITIONS = parse_words(
    """bez dla do dzięki ku między mimo na nad o obok od oprócz po pod podczas poza przed przez przy spod u w we
    według wobec wśród z za ze zza"""
)

FUNCTION_WORDS = parse_words(
    """a aby ale ani albo bardziej bardzo bo by ci co coraz czasami czasem często dość dotąd dziś dzisiaj go i ja jak
    jednak jestem jeszcze już kiedyś ktoś lub mi mną mnie mniej może najbardziej naprawdę nawet niczego nie niech
    nigdy nikogo nim on oraz raczej się siebie sobą sobie ta tak taka taki także tam te tego tej temu ten teraz też to
    tobą trochę tu tylko tym tymi wciąż wszystkich wszystkim wtedy zawsze zbyt znacznie zupełnie całkiem finansowo"""
)


PREDICATES = PredicateAdjectives(
    adjective=build_ending_rule(
        "[nwrłtsdbmżph]y|[sżc]zy|ący|[kg]i|[dt]ni",
        "[nwrłtsdbmżph]a|[sżc]za|ąca|[kg]a|[dt]nia",
        masculine_words=parse_words("gotów pewien pełen zdrów wesół świadom ciekaw winien wart żyw głupi"),
        feminine_words=parse_words("głupia"),
        exceptions=parse_words(
            """jaki jaka każdy każda żadna która kiedy wtedy nigdy gdy trzeba chyba kobieta mama tata matka córka
            siostra żona osoba głowa modelka kucharka nauczycielka pielęgniarka dziewczyna mężczyzna artysta fanka
            prawda ofiara sprawa praca"""
        ),
    ),
    # A predicate noun and its adjectives are in the instrumental (*jestem dobrym lekarzem*), so a nominative adjective
    # next to the copula never modifies a noun.
    noun=build_noun_rule(feminine=()),
    prepositions=PREPOSITIONS,
    function_words=FUNCTION_WORDS,
    coordinators=parse_words("i a oraz ani lub albo czy ale"),
    adverbs=("o", "ie", "ej", "le"),
)

COPULAS = parse_words("jestem będę bywam")
# Forms of "feel", which take a predicate adjective only with "się": *czuję się zmęczony*.
FEELING = parse_words("czuję poczuję")
FIRST_PERSON = re.compile("ę$|[aei]m$")

AGREEING = map_genders("sam", "sama")

# After these words, *sam* and *sama* are not the subject: "the same", "than I myself", "in myself".
NOT_SUBJECT_AFTER = parse_words("ten ta taki taka tym tej siebie sobie sobą niż jak jako")

OTHER_SUBJECTS = parse_words(
    """on ona ono oni ty to mój moja mąż żona partner partnerka mama matka ojciec syn córka jest był była musi może
    powinien powinna kto który która ktoś nikt"""
)
OTHER_PERSONS = re.compile("[aeiy]sz$|łeś$|łaś$")

OPENERS = parse_words("że żeby gdy kiedy ponieważ bo gdyż jeśli")


class PolishGrammar:
    """The rules that find the speaker's gender in Polish."""

    def find_cues(self, sentence: Sequence[str]) -> Iterator[Cue]:
        """Yield the cues (words that mark the speaker's gender) of a sentence, clause by clause."""
        for clause in split_clauses(sentence, OPENERS):
            other = clause.contains_word_of(OTHER_SUBJECTS) or any(OTHER_PERSONS.search(word) for word in clause.words)
            first = any(FIRST_PERSON.search(word) and word not in AGREEING for word in clause.words)
            for position in clause.positions:
                cue = self._find_cue(clause, position, first_person=first and not other)
                if cue:
                    yield cue

    def _find_cue(self, clause: Clause, position: int, *, first_person: bool) -> Cue | None:
        word, before = clause.sentence[position], clause.get_word_before(position)
        if gender := PAST(word):
            return None if before in PREPOSITIONS else clause.build_cue("past tense", gender, position)
        if word in MOBILE and (participle := self._find_participle(clause, position)):
            return clause.build_cue("participle", participle[1], participle[0], position)
        feels = word in FEELING and "się" in (before, clause.get_word_after(position))
        if word in COPULAS or feels or (word == "być" and first_person):
            adjective = PREDICATES.find_adjective_next_to(clause, position)
            if adjective:
                return clause.build_cue("predicate adjective", adjective[1], adjective[0], position)
        if word in AGREEING and first_person and before not in NOT_SUBJECT_AFTER:
            return clause.build_cue("agreeing word", AGREEING[word], position)
        return None

    @staticmethod
    def _find_participle(clause: Clause, auxiliary: int) -> tuple[int, Gender] | None:
        """Return the index and gender of the participle that is nearest to the word at index `auxiliary`."""
        participles = [(index, gender) for index in clause.positions if (gender := PARTICIPLE(clause.sentence[index]))]
        return min(participles, key=lambda participle: abs(participle[0] - auxiliary), default=None)


GRAMMAR = PolishGrammar()
