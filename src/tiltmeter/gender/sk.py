"""The speaker's gender in Slovak: *prišla som*, *bol by som*, *nie som unavený*, *rada*, *sám*."""

import re

from tiltmeter.gender.auxiliary_grammar import AuxiliaryGrammar
from tiltmeter.gender.clauses import PredicateAdjectives, build_ending_rule, build_noun_rule, map_genders, parse_words

PREPOSITIONS = parse_words(
    """bez cez do k ku kvôli medzi mimo na nad nado o od odo okolo okrem po počas pod podľa pre pred predo pri proti s
    so skrz spod u v vo vďaka voči vyše z za zo"""
)

FUNCTION_WORDS = parse_words(
    """a aby ak ako akoby ale alebo ani asi až by budem byť bol bola bolo celkom často dnes doma dosť ešte ho ich iba
    ja je jej jeho jemu im nim ním kým čím mojím svojím keď keby ktorá ktorý lebo len mi mne mňa mnou mu môj moja
    naozaj nás nech než nie niekedy nič nikdy preto pretože príliš sa sám sama seba sebe si skôr som stále sú ta tak
    takže tam teba tebe teraz ti ťa tiež to toľko tu tým už vám vás veľmi však vtedy vždy že akejkoľvek akémukoľvek"""
)

_LONG = "(?:[áéíóúýôĺŕ]|i[aeu])"
_CONSONANTS = "[^aeiouyáéíóúýäô]"

# After a long syllable, the ending of an adjective is short (krásny, krásna). Comparatives and participles are
# included, because they also mark the gender.
ADJECTIVE = build_ending_rule(
    rf"ý|{_LONG}{_CONSONANTS}*[nlrvtmpbd]y|(?:[uú]|ia)ci|ší",
    rf"(?<!i)á|{_LONG}{_CONSONANTS}*[nlrvmpb]a|(?:[uú]|ia)ca|šia",
    masculine_words=parse_words("krátky blízky ťažký drzý cudzí"),
    feminine_words=parse_words("krátka blízka biela istá cudzia"),
    exceptions=parse_words(
        """ktorý ktorá aký aká každý každá žiadny žiadna nejaký nejaká iný iná samý samá taký taká istým chvíľa rána
        brána správa zábava doprava prípravy správy problémy vína sála skúša slová mestá miesta"""
    ),
)

CAN_BE_NOUN = build_noun_rule(
    feminine=("a", "osť", "yňa"),
    masculine=("ca", "ista", "ga", "ko"),
    vowels="aeiouyáéíóúýäô",
    not_masculine=("ť", "š", "m", "ov", "ch", "mi"),
)

GRAMMAR = AuxiliaryGrammar(
    auxiliaries=parse_words("som"),
    copulas=parse_words("som"),
    futures=parse_words("budem nebudem"),
    infinitive=re.compile("ť$"),
    infinitives=parse_words("byť nebyť"),
    first_person=re.compile("[aáeiíu]m$"),
    participle=build_ending_rule(
        "[aeiouyáéíýäú]l",
        "la",
        exceptions=parse_words(
            """škola sila skala chvála pravidla pádla divadla zrkadla krídla mydla čísla hesla masla svetla skla tela
            čela kresla umývadla viola materiál festival model hotel panel tunel motel detail email e-mail mail
            alkohol kostol idol symbol futbal volejbal basketbal personál potenciál ideál originál signál seriál
            manuál kanál profil štýl automobil mobil podiel diel oddiel rozdiel popol stôl orol uhol kotol vrchol
            titul rituál kapitál areál sál protokol omyl pitbul manžel zmysel priemysel úmysel anjel"""
        ),
    ),
    ambiguous=parse_words("pol sedel diela jedla sedla"),
    predicates=PredicateAdjectives(
        adjective=ADJECTIVE,
        noun=CAN_BE_NOUN,
        prepositions=PREPOSITIONS,
        function_words=FUNCTION_WORDS | PREPOSITIONS,
        coordinators=parse_words("a i aj ani alebo či ale no"),
        with_complement=parse_words(
            "plný plná schopný schopná hodný hodná vďačný vďačná verný verná oddaný oddaná otvorený otvorená"
        ),
    ),
    agreeing=map_genders("rád nerád sám", "rada nerada sama"),
    pronouns=parse_words("ja"),
    other_subjects=parse_words(
        """on ona ono oni ty je sú môj moja manžel manželka muž žena priateľ priateľka partner partnerka mama otec syn
        dcéra kto ktorý ktorá nikto niekto"""
    ),
    other_persons=re.compile("(?<![nv]á)(?<!^)š$"),
    not_subject_after=parse_words("než ako seba sebe sebou so"),
)
