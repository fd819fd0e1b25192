"""Czech: *přišla jsem*, *byl bych*, *nejsem unavený*, *ráda*, *sám*."""

from tiltmeter.gender.auxiliary import AuxiliaryGrammar
from tiltmeter.gender.engine import FEMININE, MASCULINE, Gender, Predicates, by_endings, words

PREPOSITIONS = words(
    """bez do k ke ku kolem kromě kvůli mezi mimo na nad nade o od ode okolo po pod podle pro proti před přede přes při
    s se skrz u v ve vedle vůči z za ze díky během"""
)

FUNCTION_WORDS = words(
    """a aby abych ale anebo ani asi až ať bez bude budu by bych byl byla bylo být celá celý co často dnes docela doma
    dost ho i ihned já jak jako jaký jaká je jeho její jen jenom jestli ještě jí jsem jsou k kde kdo když která který ke
    lepší mě mi mně mu můj má moje na nad naprosto naše nás ne nebo nejen nejsem než nic nikdy někdy o od okamžitě oni po
    pod pořád pro protože proto před přes při příliš s se si spíš stále sám sama ta tady tak také takže tam tě ten teď ti
    to tu tím tobě u už v vám vás ve velmi více však vždy vždycky z za zase ze že úplně opravdu"""
)

COORDINATORS = words("a i ani nebo či ale")

# -í (jarní, lepší) is the same for both genders; short forms: unaven, vychována, ochoten, šťastna.
ADJECTIVE = by_endings(
    "ý|[^aeiouyáéíóúůýě](?:án|en)|šťasten|ochoten|schopen|vděčen|jist|spokojen|vinen|povinen|zdráv|živ|hotov|vědom",
    "á|[áe]na|šťastna|ochotna|schopna|vděčna|jista|spokojena|vinna|povinna|zdráva|živa|hotova|vědoma",
    but=words(
        """který která jaký jaká každý každá nějaký nějaká žádný žádná jiný jiná takový taková týden den kámen oheň kořen
        plamen jeden okamen leden duben červen květen září žena cena změna scéna ozvěna vteřina rodina hodina vina
        byt dobyt pocit soucit plat klat chalupa špatá svatá má tvá svá dělá zdá dá zná říká nemá získá zůstá pomáhá stává
        odcházá alkohol posílá zajímá potřebá čeká nechá hledá volá začíná připadá vypadá přestává cítá dívá dává
        baví láká""",
    ),
)


def noun(word: str, gender: Gender) -> bool:
    """A nominative noun: men's end in a consonant or are agents in -a or -í, women's in -a, -ost or -kyně."""
    if gender == FEMININE:
        return word.endswith(("a", "ost", "yně", "ání", "ení", "utí"))
    if word.endswith(("ce", "ista", "ga", "táta", "dí")):
        return True
    return word[-1] not in "aeiouyáéíóúůýě" and not word.endswith(("ým", "em", "ům", "ím", "ách", "ech", "ích", "t", "š"))


GRAMMAR = AuxiliaryGrammar(
    auxiliaries=words("jsem nejsem bych abych kdybych sem"),
    copulas=words("jsem nejsem budu nebudu být nebýt"),
    participle=by_endings(
        "[^u]l|(?<!g)ul",
        "la",
        but=words(
            """škola síla skála chvíla chvála pravidla pádla divadla zrcadla křídla jídla mýdla sedla čísla hesla másla
            světla skla těla čela křesla docela zcela zdola odmala zpola shola nula cela víla žíla pila včela cihla jehla kapela mrtvola
            materiál festival model hotel panel tunel motel detail email e-mail mail alkohol kostel idol symbol fotbal
            volejbal basketbal personál potenciál ideál originál signál seriál manuál kanál profil styl automobil mobil
            podíl díl oddíl rozdíl popel stůl orel úhel kotel vrchol žal titul rituál kapitál areál sál učitel ředitel
            přítel nepřítel manžel obyvatel spisovatel podnikatel velitel majitel zaměstnavatel protokol omyl úmysl
            smysl průmysl půl důl král cíl vůl úl sůl hůl dál bicykl cykl pól gól kal sokol topol zákal hnojil mysl pitbula pytel uzel kozel anděl posel žel nádobál interval
            arzenál kriminál finál terminál speciál ceremoniál moderátol zl"""
        ),
    ),
    ambiguous=words("stál bál jedla sedla dospěl pila pil"),
    predicates=Predicates(
        adjective=ADJECTIVE,
        noun=noun,
        prepositions=PREPOSITIONS,
        function_words=FUNCTION_WORDS,
        coordinators=COORDINATORS,
        with_complement=words("plný plná schopný schopná schopen schopna hodný hodná vděčný vděčná věrný věrná oddaný oddaná"),
    ),
    openers=frozenset(),
    agreeing={
        "rád": MASCULINE,
        "ráda": FEMININE,
        "nerad": MASCULINE,
        "nerada": FEMININE,
        "rad": MASCULINE,
        "rada": FEMININE,
        "sám": MASCULINE,
        "sama": FEMININE,
    },
    third_persons=words("on ona můj moje má manžel manželka"),
    shared_auxiliaries=words("já"),
    pronouns=words("já"),
    comparatives=words("než jako sebe sobě se sebou"),
)
