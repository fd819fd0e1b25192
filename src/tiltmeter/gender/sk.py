"""Slovak: *prišla som*, *bol by som*, *nie som unavený*, *rada*, *sám*."""

from tiltmeter.gender.auxiliary import AuxiliaryGrammar
from tiltmeter.gender.engine import FEMININE, MASCULINE, Gender, Predicates, by_endings, words

PREPOSITIONS = words(
    """bez cez do k ku kvôli medzi mimo na nad nado o od odo okolo okrem po počas pod podľa pre pred predo pri proti
    s so skrz spod u v vo vďaka voči vyše z za zo"""
)

FUNCTION_WORDS = words(
    """a aby ak ako akoby ale alebo ani asi až bez by budem byť bol bola bolo dnes doma dosť ešte ho ich iba ja je jej
    jeho keď keby ktorá ktorý lebo len mi mne mňa mu môj moja na nad naozaj nás nech než nie nič nikdy niekedy o od pre
    pred preto pretože pri príliš proti s sa sám sama si skôr som sú ta tak takže tam teba tebe teraz ti ťa to tu tým u
    už v vám vás veľmi vo však vždy z za zo že vtedy tiež celkom celý celá stále často"""
)

COORDINATORS = words("a i aj ani alebo či ale no")

# Short after a long syllable (krásny), -šia and -úca show gender, -í of cudzí does too but only for men.
ADJECTIVE = by_endings(
    r"ý|[áéíóúýôĺŕ][^aeiouyáéíóúý]*[nlrvtk]y|i[aeu][^aeiouyáéíóúý]*[nlrvt]y|[úu]ci|iaci|ší",
    r"(?<!i)á|[áéíóúýôĺŕ][^aeiouyáéíóúý]*(?:n|l|r|v)a|i[eu][^aeiouyáéíóúý]*[nlrvt]a|[úu]ca|iaca|šia",
    but=words(
        """ktorý ktorá aký aká každý každá žiadna žiadny nejaký nejaká akákoľvek akýkoľvek iný iná samá samý rodina
        tretina pôvodca strá rána brána správa zábava strana hlava vína sála stála"""
    ),
)

_INFINITIVE_OR_OBLIQUE = ("ť", "om", "ov", "mi", "ch", "m", "ím", "š")


def noun(word: str, gender: Gender) -> bool:
    """A nominative noun: men's end in a consonant or are agents in -a, women's in -a or -osť."""
    if gender == FEMININE:
        return word.endswith(("a", "osť", "yňa"))
    if word.endswith(("ca", "ista", "ga", "íčko", "ko")):
        return True
    return word[-1] not in "aeiouyáéíóúýäô" and not word.endswith(_INFINITIVE_OR_OBLIQUE)


GRAMMAR = AuxiliaryGrammar(
    auxiliaries=words("som"),
    copulas=words("som budem byť nebudem nebyť"),
    participle=by_endings(
        "[aeiouyáéíýäú]l",
        "l[a]",
        but=words(
            """škola sila skala chvála pravidla pádla divadla zrkadla krídla mydla sedla čísla hesla masla svetla
            skla tela čela kresla umývadla viola fazuľa guľa skúšobňa materiál festival model hotel panel tunel motel
            detail email e-mail mail alkohol kostol idol symbol futbal volejbal basketbal hádzanal personál potenciál
            ideál originál signál seriál manuál kanál profil štýl automobil mobil podiel diel oddiel rozdiel popol
            stôl úder orol uhol kotol vrchol žiaľ titul rituál kapitál areál sál učiteľ protokol omyl smel celá
            """
        ),
    ),
    ambiguous=words("pol sedel diela jedla"),
    predicates=Predicates(
        adjective=ADJECTIVE,
        noun=noun,
        prepositions=PREPOSITIONS,
        function_words=FUNCTION_WORDS,
        coordinators=COORDINATORS,
        with_complement=words("plný plná schopný schopná hodný hodná vďačný vďačná verný verná oddaný oddaná"),
    ),
    openers=frozenset(),
    agreeing={
        "rád": MASCULINE,
        "rada": FEMININE,
        "nerád": MASCULINE,
        "nerada": FEMININE,
        "sám": MASCULINE,
        "sama": FEMININE,
    },
    third_persons=words("on ona môj moja manžel manželka"),
    pronouns=words("ja"),
    comparatives=words("než ako seba sebe sebou"),
)
