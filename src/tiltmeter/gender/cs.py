"""The speaker's gender in Czech: *přišla jsem*, *byl bych*, *já to věděl*, *nejsem unavený*, *ráda*, *sám*."""

import re

from tiltmeter.gender.auxiliary_grammar import AuxiliaryGrammar
from tiltmeter.gender.clauses import PredicateAdjectives, build_ending_rule, build_noun_rule, map_genders, parse_words

PREPOSITIONS = parse_words(
    """bez během díky do k ke ku kolem kromě kvůli mezi mimo na nad nade o od ode okolo po pod podle pro proti před
    přede přes při s skrz u v ve vedle vůči z za ze"""
)

FUNCTION_WORDS = parse_words(
    """a aby abych ale anebo ani asi až ať bude budu by bych byl byla bylo být celá celý co často dnes docela doma
    dost ho i ihned já jak jako je jeho její jen jenom jim nim ním čím jestli ještě jí jsem jsou kde kdo když která
    který mě mi mně mnou mu můj má moje naprosto nás ne nebo nejen nejsem než nic nikdy někdy okamžitě opravdu pořád
    protože proto příliš se si sám sama sebe sobě spíš stále ta tady tak také takže tam tě ten teď ti to tobě tolik tu
    tím úplně už vám vás velmi více však vždy vždycky zase že"""
)

# Adjectives in -í (jarní, lepší) are not included, because they have one form for both genders. Short forms are
# included: unaven, vychována, schopen, zdráva.
ADJECTIVE = build_ending_rule(
    "ý|[^aeiouyáéíóúůýě](?:án|en)",
    "á|[áe]na",
    masculine_words=parse_words("jist zdráv živ hotov vědom šťasten ochoten schopen vděčen vinen povinen spokojen"),
    feminine_words=parse_words(
        "jista zdráva živa hotova vědoma šťastna ochotna schopna vděčna vinna povinna spokojena"
    ),
    exceptions=parse_words(
        """který která jaký jaká každý každá nějaký nějaká žádný žádná jiný jiná takový taková má tvá svá týden den
        román kámen kořen plamen jeden leden duben červen květen žena cena změna scéna ozvěna dělá zdá dá zná říká
        nemá získá pomáhá stává posílá zajímá čeká nechá hledá volá začíná připadá vypadá přestává dívá dává láká
        znamená vyžaduje obsahuje zůstává"""
    ),
)

# Neuter nouns in -í count as feminine, because their adjectives in the plural end in -á too: *obtížná rozhodnutí*.
CAN_BE_NOUN = build_noun_rule(
    feminine=("a", "ost", "yně", "ání", "ení", "utí"),
    masculine=("ce", "ista", "ga", "táta", "čí", "ní"),
    vowels="aeiouyáéíóúůýě",
    not_masculine=("m", "ách", "ech", "ích", "t", "š"),
)

GRAMMAR = AuxiliaryGrammar(
    auxiliaries=parse_words("jsem nejsem bych abych kdybych"),
    # With the pronoun *já*, the past tense may have no auxiliary (*já to věděl*), so *já* is treated as an auxiliary.
    shared_auxiliaries=parse_words("já"),
    copulas=parse_words("jsem nejsem"),
    futures=parse_words("budu nebudu"),
    infinitive=re.compile("[aeiyouáěíůé]t$|[íé]ct$"),
    infinitives=parse_words("být nebýt"),
    first_person=re.compile("[áíeě]m$|uj[ui]$|^(?:ne)?(?:chci|mohu|můžu|budu|jdu|jedu|píšu|čtu|žiju|žiji|beru|du)$"),
    participle=build_ending_rule(
        "l",
        "la",
        exceptions=parse_words(
            """škola síla skála chvála pravidla pádla divadla zrcadla křídla mýdla čísla hesla másla světla skla těla
            čela křesla docela zcela zdola odmala zpola shola nula cela víla žíla včela cihla jehla kapela mrtvola
            materiál festival model hotel panel tunel motel detail email e-mail mail alkohol kostel idol symbol fotbal
            volejbal basketbal personál potenciál ideál originál signál seriál manuál kanál profil styl automobil
            mobil podíl díl oddíl rozdíl popel stůl orel úhel kotel vrchol žal titul rituál kapitál areál sál učitel
            ředitel přítel nepřítel manžel obyvatel spisovatel podnikatel velitel majitel zaměstnavatel protokol omyl
            úmysl smysl průmysl půl důl král cíl vůl úl sůl hůl dál bicykl cykl pól gól kal sokol topol pytel uzel
            kozel anděl posel žel interval arzenál kriminál terminál speciál ceremoniál pitbul pitbula mysl"""
        ),
    ),
    ambiguous=parse_words("jedla sedla pila pil stál"),
    predicates=PredicateAdjectives(
        adjective=ADJECTIVE,
        noun=CAN_BE_NOUN,
        prepositions=PREPOSITIONS,
        function_words=FUNCTION_WORDS | PREPOSITIONS,
        coordinators=parse_words("a i ani nebo či ale"),
        with_complement=parse_words(
            "plný plná schopný schopná schopen schopna hodný hodná vděčný vděčná věrný věrná oddaný oddaná"
        ),
    ),
    agreeing=map_genders("rád nerad sám", "ráda nerada sama"),
    pronouns=parse_words("já"),
    other_subjects=parse_words(
        """on ona ono oni ty jsi je není jsou můj moje má manžel manželka muž žena přítel přítelkyně partner partnerka
        máma matka otec syn dcera kdo který která nikdo někdo"""
    ),
    other_persons=re.compile("(?<![nv]á)(?<!^)š$"),
    not_subject_after=parse_words("než jako sebe sobě sebou"),
)
