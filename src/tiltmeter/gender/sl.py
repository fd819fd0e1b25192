"""Slovene: *prišla sem*, *bom delal*, *rad bi šel*, *nisem utrujena*, *sam*."""

from tiltmeter.gender.auxiliary import AuxiliaryGrammar
from tiltmeter.gender.engine import FEMININE, MASCULINE, Gender, Predicates, by_endings, words

PREPOSITIONS = words(
    """brez do iz k h kljub med na nad o ob od okoli po pod poleg pred pri proti s skozi v z za zaradi znotraj glede"""
)

FUNCTION_WORDS = words(
    """a ali ampak bi bila bil biti bolj bom brez celo če čez da danes do dovolj ga in iz jaz je jih jo k kadar kako kaj
    kakor ker ki ko kot le lahko ma me mene meni mi moj moja mora na čeprav nad naj najbolj ne nekoliko ni nič nikoli nisem niti
    o ob od pa po pod potem pravi pred preveč pri res s sam sama saj se sebe sem si skoraj še tako tam te ti to tudi tu
    v vam vas vedno ves vsa vse vsi z za zaradi zato zdaj zelo že popolnoma precej tisti tista ta"""
)

COORDINATORS = words("in ali pa ter ampak")

ADJECTIVE = by_endings(
    r"[^aeiou]en|jen|an|ljiv|[^aeiou]iv|[^aeiou]av|[^aeiou]it|[^aeiou]at|[^aeiou]ut|[žčšj]ji|[jžčš]ši",
    r"[^aeiou]ena|[^i]na|ljiva|[^aeiou]iva|[^aeiou]ava|ita|ata|uta|[žčšj]ja|[jžčš]ša",
    men=words(
        """mlad star lep hud slab nag rad trd tih zdrav živ prost čist hiter dober moder bister suh debel vesel zrel gol
        cel visok nizek kratek plah grd gluh slep nem bled prvi edini velik tak prestar premlad prešibek šibek krepek
        odprt zaprt srčen zvest vrl ljub drag grob strog mil bogat poln vedež vroč tašč tuj predrzen težak"""
    ),
    women=words(
        """mlada stara lepa huda slaba naga rada trda tiha zdrava živa prosta čista hitra dobra modra bistra suha debela
        vesela zrela gola cela visoka nizka kratka plaha grda gluha slepa nema bleda prva edina velika taka prestara
        premlada prešibka šibka krepka odprta zaprta zvesta ljuba draga groba stroga mila bogata polna vroča tuja"""
    ),
    but=words(
        """eden en noben dan teden član kamen plamen pomen namen ogenj razen stan plan roman ekran organ državljan žena
        cena hrana stran strana sestrana vojna klavna služba obramba sprememba resnica ena nobena zabava država glava
        trava postava težava krava narava sprava vzgojna odrasla mnenja ocena scena hotena vzgoja čustva vožnja
        veščina navada tekmovalen gost občutek sestanek svet čas odrasel vzdržljivost prijatelj svit pot pravi
        težav kakšen kakšna kuhinja tema zadeva družina vsebina stvar odločitev naloga značaj poklicna dolžna_"""
    ),
)


def noun(word: str, gender: Gender) -> bool:
    """A nominative noun: men's end in a consonant or are agents in -ja, women's in -a or -ost."""
    if gender == FEMININE:
        return word.endswith(("a", "ost", "stvar"))
    if word.endswith(("vodja", "ista", "kolega")):
        return True
    return word[-1] not in "aeiou" and not word.endswith(("em", "om", "ih", "ah", "am", "š"))


GRAMMAR = AuxiliaryGrammar(
    auxiliaries=words("sem nisem bom"),
    shared_auxiliaries=words("bi"),
    copulas=words("sem nisem bom biti"),
    participle=by_endings(
        "[aeiouv]l|[gkšstzdčr]el|rl",
        "la",
        but=words(
            """šola sila skala hvala pravila vesla gledališča zrcala krila sedla čela stebla števila model panel
            tunel motel detajl email mail alkohol idol simbol nogomet personal potencial ideal original signal kanal
            profil stil avtomobil mobil delež predel oddel popol stol orel kotel vrhol žal ritual kapital
            arzenal terminal festival material volla skupila cel debel vesel zrel gol topel gnil kisel svetel okrogel
            cela debela vesela zrela gola topla gnila kisla svetla mala bela zla toliko hala igla obala misel smisel
            posel mul del vzel_ pol dol sol bol čebela tla deblila dela odela"""
        ),
    ),
    ambiguous=words("pravila krila dela cela števila jedla"),
    predicates=Predicates(
        adjective=ADJECTIVE,
        noun=noun,
        prepositions=PREPOSITIONS,
        function_words=FUNCTION_WORDS,
        coordinators=COORDINATORS,
        with_complement=words("poln polna sposoben sposobna vreden vredna hvaležen hvaležna zvest zvesta vajen vajena"),
    ),
    openers=words("ker ko če ki da"),
    agreeing={
        "rad": MASCULINE,
        "rada": FEMININE,
        "nerad": MASCULINE,
        "nerada": FEMININE,
        "sam": MASCULINE,
        "sama": FEMININE,
    },
    third_persons=words("on ona moj moja mož žena partner partnerica mama oče družina vsak vsaka nihče nekdo kdo kdor"),
    pronouns=words("jaz"),
    objects=words("me mene mi meni mano menoj"),
    comparatives=words("kot sebe sebi seboj sabo"),
)
