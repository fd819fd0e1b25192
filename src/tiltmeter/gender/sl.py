"""The speaker's gender in Slovene: *prišla sem*, *bom delal*, *rad bi šel*, *nisem utrujena*, *sam*."""

import re

from tiltmeter.gender.auxiliary_grammar import AuxiliaryGrammar
from tiltmeter.gender.clauses import PredicateAdjectives, build_ending_rule, build_noun_rule, map_genders, parse_words

PREPOSITIONS = parse_words(
    """brez čez do glede iz k h kljub med na nad o ob od okoli po pod poleg pred pri proti s skozi v z za zaradi"""
)

FUNCTION_WORDS = parse_words(
    """a ali ampak bi bila bil biti bolj bom celo čeprav če da danes dovolj ga in jaz je jih jim njim jo kadar kako
    kaj kakor kakšen kakšna ker ki ko kot le lahko me mene meni mi mano menoj moj moja mora naj najbolj ne nekoliko ni
    nič nikoli nisem niti pa popolnoma potem pravi precej preveč res sam sama saj se sebe sem si skoraj še ta tako tam
    te ti tista tisti to tu tudi vam vas vedno ves vsa vse vsi takrat jutri včeraj raje morda mogoče zlahka nikakor
    zato zdaj zelo že doma zakaj več kdaj kje nekoč tedaj vsaj komaj sploh včasih pogosto prej nazadnje končno seveda
    zagotovo gotovo drugače sicer"""
)

ADJECTIVE = build_ending_rule(
    "[^aeiou]en|jen|an|ljiv|[^aeiou](?:iv|av|it|at|ut)|[žčšj]ji|[jžčš]ši",
    "[^aeiou]ena|[^i]na|ljiva|[^aeiou](?:iva|ava)|[iau]ta|[žčšj]ja|[jžčš]ša",
    masculine_words=parse_words(
        """mlad star lep hud slab nag trd tih zdrav živ prost čist hiter dober moder bister suh debel vesel zrel gol
        cel visok nizek kratek plah grd gluh slep nem bled prvi edini velik tak prestar premlad prešibek šibek krepek
        odprt zaprt zvest ljub drag grob strog mil bogat poln vroč tuj"""
    ),
    feminine_words=parse_words(
        """mlada stara lepa huda slaba naga trda tiha zdrava živa prosta čista hitra dobra modra bistra suha debela
        vesela zrela gola cela visoka nizka kratka plaha grda gluha slepa nema bleda prva edina velika taka prestara
        premlada prešibka šibka krepka odprta zaprta zvesta ljuba draga groba stroga mila bogata polna vroča tuja"""
    ),
    exceptions=parse_words(
        """eden en noben dan teden član plamen pomen namen stan plan roman ekran organ državljan žena cena hrana
        strana vojna ena nobena zabava država glava trava postava težava težav krava narava sprava odrasla ocena scena
        kuhinja gospodinja družina vsebina želja volja šola svit vodja vojska debata plata lopata pošta"""
    ),
)

CAN_BE_NOUN = build_noun_rule(
    feminine=("a", "ost", "stvar"),
    masculine=("vodja", "ista", "kolega"),
    vowels="aeiou",
    not_masculine=("m", "ih", "ah", "š"),
)

GRAMMAR = AuxiliaryGrammar(
    auxiliaries=parse_words("sem nisem bom"),
    shared_auxiliaries=parse_words("bi"),
    copulas=parse_words("sem nisem"),
    futures=parse_words("bom"),
    infinitives=parse_words("biti"),
    first_person=re.compile("[aei]m$|^(?:hočem|nočem|grem|vem)$"),
    participle=build_ending_rule(
        "[aeiouv]l|rl",
        "la",
        exceptions=parse_words(
            """šola sila skala hvala vesla zrcala čela stebla model panel tunel motel email mail alkohol idol simbol
            personal potencial ideal original signal kanal profil stil avtomobil mobil predel stol orel kotel žal
            ritual kapital arzenal terminal festival material debel vesel gol topel gnil kisel svetel okrogel debela
            vesela zrela gola topla gnila kisla svetla mala bela zla hala igla obala misel smisel posel del pol dol
            sol bol čebela tla bordel pitbul pitbula"""
        ),
    ),
    ambiguous=parse_words("pravila krila dela cela cel števila jedla sedla zrel oblačil"),
    predicates=PredicateAdjectives(
        adjective=ADJECTIVE,
        noun=CAN_BE_NOUN,
        prepositions=PREPOSITIONS,
        function_words=FUNCTION_WORDS | PREPOSITIONS,
        coordinators=parse_words("in ali pa ter ampak"),
        with_complement=parse_words(
            "poln polna sposoben sposobna vreden vredna hvaležen hvaležna zvest zvesta vajen vajena"
        ),
    ),
    openers=parse_words("ker ko če ki da"),
    agreeing=map_genders("rad nerad sam", "rada nerada sama"),
    pronouns=parse_words("jaz"),
    other_subjects=parse_words(
        """on ona ono oni je ni moj moja mož žena partner partnerica prijatelj prijateljica mama oče sin hči družina
        nihče nekdo kdo kdor"""
    ),
    other_persons=re.compile("(?<!na)(?<!va)(?<!^)š$"),
    demonstratives=parse_words("to"),
    demonstratives_with=parse_words("bil bila"),
    # Forms of "me" and "who" show that the clause has another subject than the speaker.
    not_shared=parse_words("me mene mi meni mano menoj ki"),
    not_subject_after=parse_words("kot sebe sebi seboj sabo"),
)
