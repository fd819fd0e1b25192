"""Slovak: *prišla som*, *bol by som*, *nie som unavený*, *rada*, *sám*."""

import re

from tiltmeter.gender.auxiliary import AuxiliaryGrammar
from tiltmeter.gender.clauses import FEMININE, MASCULINE, Gender, Predicates, by_endings, words

PREPOSITIONS = words(
    """bez cez do k ku kvôli medzi mimo na nad nado o od odo okolo okrem po počas pod podľa pre pred predo pri proti s
    so skrz spod u v vo vďaka voči vyše z za zo"""
)

FUNCTION_WORDS = words(
    """a aby ak ako akoby ale alebo ani asi až by budem byť bol bola bolo celkom často dnes doma dosť ešte ho ich iba
    ja je jej jeho jemu im nim ním kým čím mojím svojím keď keby ktorá ktorý lebo len mi mne mňa mnou mu môj moja
    naozaj nás nech než nie niekedy nič nikdy preto pretože príliš sa sám sama seba sebe si skôr som stále sú ta tak
    takže tam teba tebe teraz ti ťa tiež to toľko tu tým už vám vás veľmi však vtedy vždy že akejkoľvek akémukoľvek"""
)

_LONG = "(?:[áéíóúýôĺŕ]|i[aeu])"
_CONSONANTS = "[^aeiouyáéíóúýäô]"

# After a long syllable the ending is short (krásny, krásna); comparatives and participles show gender too.
ADJECTIVE = by_endings(
    rf"ý|{_LONG}{_CONSONANTS}*[nlrvtmpbd]y|(?:[uú]|ia)ci|ší",
    rf"(?<!i)á|{_LONG}{_CONSONANTS}*[nlrvmpb]a|(?:[uú]|ia)ca|šia",
    masculine_words=words("krátky blízky ťažký drzý cudzí"),
    feminine_words=words("krátka blízka biela istá cudzia"),
    exceptions=words(
        """ktorý ktorá aký aká každý každá žiadny žiadna nejaký nejaká iný iná samý samá taký taká istým chvíľa rána
        brána správa zábava doprava prípravy správy problémy vína sála skúša slová mestá miesta"""
    ),
)

NOT_NOMINATIVE = ("ť", "š", "m", "ov", "ch", "mi")


def noun(word: str, gender: Gender) -> bool:
    """Could be a nominative noun: masculine in a consonant, or agents in -a or -ko, feminine in -a or -osť."""
    if gender == FEMININE:
        return word.endswith(("a", "osť", "yňa"))
    if word.endswith(("ca", "ista", "ga", "ko")):
        return True
    return word[-1:] not in "aeiouyáéíóúýäô" and not word.endswith(NOT_NOMINATIVE)


GRAMMAR = AuxiliaryGrammar(
    auxiliaries=words("som"),
    copulas=words("som"),
    futures=words("budem nebudem"),
    infinitive=re.compile("ť$"),
    infinitives=words("byť nebyť"),
    first_person=re.compile("[aáeiíu]m$"),
    participle=by_endings(
        "[aeiouyáéíýäú]l",
        "la",
        exceptions=words(
            """škola sila skala chvála pravidla pádla divadla zrkadla krídla mydla čísla hesla masla svetla skla tela
            čela kresla umývadla viola materiál festival model hotel panel tunel motel detail email e-mail mail
            alkohol kostol idol symbol futbal volejbal basketbal personál potenciál ideál originál signál seriál
            manuál kanál profil štýl automobil mobil podiel diel oddiel rozdiel popol stôl orol uhol kotol vrchol
            titul rituál kapitál areál sál protokol omyl pitbul manžel zmysel priemysel úmysel anjel"""
        ),
    ),
    ambiguous=words("pol sedel diela jedla sedla"),
    predicates=Predicates(
        adjective=ADJECTIVE,
        noun=noun,
        prepositions=PREPOSITIONS,
        function_words=FUNCTION_WORDS | PREPOSITIONS,
        coordinators=words("a i aj ani alebo či ale no"),
        with_complement=words(
            "plný plná schopný schopná hodný hodná vďačný vďačná verný verná oddaný oddaná otvorený otvorená"
        ),
    ),
    agreeing={
        "rád": MASCULINE,
        "rada": FEMININE,
        "nerád": MASCULINE,
        "nerada": FEMININE,
        "sám": MASCULINE,
        "sama": FEMININE,
    },
    pronouns=words("ja"),
    other_subjects=words(
        """on ona ono oni ty je sú môj moja manžel manželka muž žena priateľ priateľka partner partnerka mama otec syn
        dcéra kto ktorý ktorá nikto niekto"""
    ),
    other_persons=re.compile("(?<![nv]á)(?<!^)š$"),
    not_subject_after=words("než ako seba sebe sebou so"),
)
