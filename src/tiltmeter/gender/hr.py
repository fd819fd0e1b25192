"""The speaker's gender in Croatian and in Serbian (Latin script): *došla sam*, *bih rekao*, *nisam umorna*, *sama*."""

import re

from tiltmeter.gender.auxiliary_grammar import AuxiliaryGrammar
from tiltmeter.gender.clauses import PredicateAdjectives, build_ending_rule, build_noun_rule, map_genders, parse_words

PREPOSITIONS = parse_words(
    """bez do duž iz iza ispod ispred između izvan k ka kod kroz među mimo na nad nakon niz o od oko osim po pod
    pokraj poput poslije posle pored pre pred preko prema pri prije protiv radi s sa u unatoč uprkos uz van za zbog"""
)

FUNCTION_WORDS = parse_words(
    """a ako ali bar barem baš bi bih bila bio bilo biti budem čak čega čim često čovek čovjek da danas dakle dok
    dosta dovoljno ga gdje gde i iako ih im njim njom ili ja jako je jer još kad kada kako kao koja koji li malo me
    mene meni mi mnogo mnom moj moja možda mu ne nego neka ni nije nikad nikada ništa nisam niti no odmah on ona opet
    pa ponekad potpuno previše prilično sad sada sam sama samo se sebe si stvarno su što šta sve svi ta tada taj tako
    također takođe tamo te ti to toga toliko tu uvek uvijek veoma vrlo već vi više zaista zar zato puno kod kuće"""
)

ADJECTIVE = build_ending_rule(
    "(?:[^aeiou]|i)an|[^aeiou]en|ljiv|[^aeiou](?:iv|av)|ovit|[nvl]it|nut|iji",
    "[^aeiou]na|[ea]na|ljiva|[^aeiou](?:iva|ava)|ovita|[nvl]ita|nuta|ija",
    masculine_words=parse_words(
        """jak slab lijep lep mlad star dobar loš ljut hrabar mudar strog tih čist tvrd glup bogat gol nag grub drag
        spor brz zdrav živ kriv prav nov debeo veseo zreo zao topao mio sit bos lud slijep slep nijem nem gluh gluv
        blag svet visok nizak dubok širok kratak sladak težak gorak oštar vješt vešt čvrst prost pust prvi jedini
        najbolji bolji gori jači čvršći tvrđi slabiji stariji mlađi takav ovakav onakav najjači svoj prestar premlad
        preslab prejak lijen lenj"""
    ),
    feminine_words=parse_words(
        """jaka slaba lijepa lepa mlada stara dobra loša ljuta hrabra mudra stroga tiha čista tvrda glupa bogata gola
        naga gruba draga spora brza zdrava živa kriva prava nova debela vesela zrela zla topla mila sita bosa luda
        slijepa slepa nijema nema gluha gluva blaga sveta visoka niska duboka široka kratka slatka teška gorka oštra
        vješta vešta čvrsta prosta pusta prva jedina najbolja bolja gora jača čvršća tvrđa slabija starija mlađa takva
        ovakva onakva najjača prestara premlada preslaba prejaka lijena lenja udata neudata"""
    ),
    exceptions=parse_words(
        """dan jedan nijedan član plan stan roman organ ekran ocean tjedan kamen plamen žena cijena cena strana hrana
        jedna nijedna istina scena promjena promena rana grana brana obrana odbrana komunikacija situacija energija
        familija ambicija emocija baterija linija historija istorija tragedija fotografija terapija opcija kompanija
        akcija nacija glava država zabava trava krava zastava nastava stava pojava uprava godina većina odmalena
        vremena imena dana mana sata plata vrata kakav kakva nikakav nekakav svakakav data"""
    ),
)

# Words in -i count as masculine nouns too, because a noun follows a long adjective in -i: *javni govornik*. So an
# adjective before such a word is attributive.
CAN_BE_NOUN = build_noun_rule(
    feminine=("a", "ost"),
    masculine=("vođa", "ista", "kolega", "tata", "sudija"),
    vowels="aeou",
    not_masculine=("em", "om", "im", "ih", "š", "og", "eg", "ti", "ći"),
)

GRAMMAR = AuxiliaryGrammar(
    auxiliaries=parse_words("sam nisam bih jesam"),
    copulas=parse_words("sam nisam jesam"),
    first_person=re.compile("[aei]m$|^(?:mogu|hoću|ću|neću)$"),
    participle=build_ending_rule(
        "[aieu]o",
        "la",
        exceptions=parse_words(
            """kao posao posla dio deo ugao misao pakao orao anđeo predio predeo udio udeo odio audio trio zao topao
            okrugao cio ceo veseo debeo zreo kiseo nagao podao škola sila hvala šala skala cigla igla obala mala
            cijela cela zla tijela tela odijela odela stabla ogledala načela zrela bijela bela vesela debela kisela
            topla okrugla sela vrela skela kapela djela dela svjetla svetla budala pčela strijela strela sala obla
            kola nagla podla zdjela zdela automobila"""
        ),
    ),
    ambiguous=parse_words("radio video studio pravila jela ostala vila mila mio"),
    predicates=PredicateAdjectives(
        adjective=ADJECTIVE,
        noun=CAN_BE_NOUN,
        prepositions=PREPOSITIONS,
        function_words=FUNCTION_WORDS | PREPOSITIONS,
        coordinators=parse_words("a i ili ali te pa nego no već"),
        with_complement=parse_words(
            """pun puna sposoban sposobna vrijedan vrijedna vredan vredna zahvalan zahvalna vjeran vjerna veran verna
            predan predana odan odana"""
        ),
    ),
    openers=parse_words(
        """da jer kad kada ako koji koja koje kojeg kojoj kojem kojima što dok iako gdje gde kako čim ali nego pa"""
    ),
    # Masculine *sam* ("alone") is spelt like the auxiliary *sam* ("am"); `_is_adjective` distinguishes the two.
    agreeing=map_genders("sam", "sama"),
    pronouns=parse_words("ja"),
    other_subjects=parse_words(
        """on ona ono oni je nije su moj moja muž žena partner partnerica partnerka majka mama otac sin kći ćerka
        svatko svako netko neko nitko niko tko ko će ćeš bi"""
    ),
    other_persons=re.compile("(?<!na)(?<!va)(?<!^)š$"),
    not_subject_after=parse_words("nego kao sebe sebi sobom"),
)
