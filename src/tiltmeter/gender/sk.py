"""Slovak: *prišla som*, *bol by som*, *nie som unavený*, *rada*, *sám*."""

import re

from tiltmeter.gender.auxiliary_grammar import AuxiliaryGrammar
from tiltmeter.gender.clauses import (
    FEMININE,
    MASCULINE,
    Gender,
    PredicateAdjectives,
    build_ending_rule,
    parse_word_list,
)

PREPOSITIONS = parse_word_list(
    """bez cez do k ku kvôli medzi mimo na nad nado o od odo okolo okrem po počas pod podľa pre pred predo pri proti s
    so skrz spod u v vo vďaka voči vyše z za zo"""
)

FUNCTION_WORDS = parse_word_list(
    """a aby ak ako akoby ale alebo ani asi až by budem byť bol bola bolo celkom často dnes doma dosť ešte ho ich iba
    ja je jej jeho jemu im nim ním kým čím mojím svojím keď keby ktorá ktorý lebo len mi mne mňa mnou mu môj moja
    naozaj nás nech než nie niekedy nič nikdy preto pretože príliš sa sám sama seba sebe si skôr som stále sú ta tak
    takže tam teba tebe teraz ti ťa tiež to toľko tu tým už vám vás veľmi však vtedy vždy že akejkoľvek akémukoľvek"""
)

_LONG = "(?:[áéíóúýôĺŕ]|i[aeu])"
_CONSONANTS = "[^aeiouyáéíóúýäô]"

# After a long syllable the ending is short (krásny, krásna); comparatives and participles show gender too.
ADJECTIVE = build_ending_rule(
    rf"ý|{_LONG}{_CONSONANTS}*[nlrvtmpbd]y|(?:[uú]|ia)ci|ší",
    rf"(?<!i)á|{_LONG}{_CONSONANTS}*[nlrvmpb]a|(?:[uú]|ia)ca|šia",
    masculine_words=parse_word_list("krátky blízky ťažký drzý cudzí"),
    feminine_words=parse_word_list("krátka blízka biela istá cudzia"),
    exceptions=parse_word_list(
        """ktorý ktorá aký aká každý každá žiadny žiadna nejaký nejaká iný iná samý samá taký taká istým chvíľa rána
        brána správa zábava doprava prípravy správy problémy vína sála skúša slová mestá miesta"""
    ),
)

NOT_NOMINATIVE = ("ť", "š", "m", "ov", "ch", "mi")


def can_be_noun(word: str, gender: Gender) -> bool:
    """Could be a nominative noun: masculine in a consonant, or agents in -a or -ko, feminine in -a or -osť."""
    if gender == FEMININE:
        return word.endswith(("a", "osť", "yňa"))
    if word.endswith(("ca", "ista", "ga", "ko")):
        return True
    return word[-1:] not in "aeiouyáéíóúýäô" and not word.endswith(NOT_NOMINATIVE)


GRAMMAR = AuxiliaryGrammar(
    auxiliaries=parse_word_list("som"),
    copulas=parse_word_list("som"),
    futures=parse_word_list("budem nebudem"),
    infinitive=re.compile("ť$"),
    infinitives=parse_word_list("byť nebyť"),
    first_person=re.compile("[aáeiíu]m$"),
    participle=build_ending_rule(
        "[aeiouyáéíýäú]l",
        "la",
        exceptions=parse_word_list(
            """škola sila skala chvála pravidla pádla divadla zrkadla krídla mydla čísla hesla masla svetla skla tela
            čela kresla umývadla viola materiál festival model hotel panel tunel motel detail email e-mail mail
            alkohol kostol idol symbol futbal volejbal basketbal personál potenciál ideál originál signál seriál
            manuál kanál profil štýl automobil mobil podiel diel oddiel rozdiel popol stôl orol uhol kotol vrchol
            titul rituál kapitál areál sál protokol omyl pitbul manžel zmysel priemysel úmysel anjel"""
        ),
    ),
    ambiguous=parse_word_list("pol sedel diela jedla sedla"),
    predicates=PredicateAdjectives(
        adjective=ADJECTIVE,
        noun=can_be_noun,
        prepositions=PREPOSITIONS,
        function_words=FUNCTION_WORDS | PREPOSITIONS,
        coordinators=parse_word_list("a i aj ani alebo či ale no"),
        with_complement=parse_word_list(
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
    pronouns=parse_word_list("ja"),
    other_subjects=parse_word_list(
        """on ona ono oni ty je sú môj moja manžel manželka muž žena priateľ priateľka partner partnerka mama otec syn
        dcéra kto ktorý ktorá nikto niekto"""
    ),
    other_persons=re.compile("(?<![nv]á)(?<!^)š$"),
    not_subject_after=parse_word_list("než ako seba sebe sebou so"),
)
