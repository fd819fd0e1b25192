"""Croatian, and Serbian in Latin letters: *došla sam*, *bih rekao*, *nisam umorna*, *sama*."""

from tiltmeter.gender.auxiliary import AuxiliaryGrammar
from tiltmeter.gender.engine import FEMININE, MASCULINE, Gender, Predicates, by_endings, words

PREPOSITIONS = words(
    """bez do duž iz iza ispod ispred između izvan k ka kod kroz među mimo na nad nakon niz o od oko osim po pod pokraj
    poput poslije posle pored prema preko pri protiv radi s sa u unatoč uprkos uz van zbog za pred prije pre"""
)

FUNCTION_WORDS = words(
    """a ako ali baš bez bi bih bila bio bilo biti budem čak čega da danas dakle do dok dosta dovoljno ga gdje gde i
    iako ih iz ja je jer još jako kad kada kako kao kod koja koji ku li ili malo me meni mene mi mnogo moj moja možda mu
    na nad nakon ne nego neka ni nije nikad nikada ništa nisam niti no o od odmah oko on ona opet pa po pod ponekad
    potpuno pred previše pri prilično s sa sada sad sam sama samo se sebe si stvarno su sve svi ta tada taj tako također
    takođe tamo te ti to toga toliko tu u uvek uvijek uz veoma vrlo već vi više za zaista zar zato zbog što šta često
    puno čim gdje li bar barem čovek čovjek"""
)

COORDINATORS = words("a i ili ali te pa nego no već")

_MEN = r"(?:[^aeiou]|i)an|[^aeiou]en|jen|ljiv|[^aeiou]iv|[^aeiou]av|ovit|[nvl]it|[^aeiou]at|nut|iji"
_WOMEN = r"[^aeiou]na|ena|ana|ljiva|[^aeiou]iva|[^aeiou]ava|ovita|[nvl]ita|[^aeiou]ata|nuta|ija"
_SHORT_MEN = """jak slab lijep lep mlad star dobar loš ljut ljubomoran hrabar mudar strog tih čist tvrd glup bogat gol nag
    grub drag spor brz zdrav živ kriv prav nov debeo veseo zreo zao topao mio sit bos lud slijep slep nijem nem gluh gluv
    blag svet visok nizak dubok širok kratak sladak težak gorak mekan nježan nežan oštar vješt vešt čvrst prost pust čest
    vrijedan vredan prvi jedini najbolji bolji gori jači slabiji stariji mlađi takav ovakav onakav najjači spreman svoj
    prestar premlad preslab prejak"""
_SHORT_WOMEN = """jaka slaba lijepa lepa mlada stara dobra loša ljuta hrabra mudra stroga tiha čista tvrda glupa bogata
    gola naga gruba draga spora brza zdrava živa kriva prava nova debela vesela zrela zla topla mila sita bosa luda
    slijepa slepa nijema nema gluha gluva blaga sveta visoka niska duboka široka kratka slatka teška gorka meka oštra
    vješta vešta čvrsta prosta pusta česta prva jedina najbolja bolja gora jača slabija starija mlađa takva ovakva onakva
    najjača prestara premlada preslaba prejaka"""

ADJECTIVE = by_endings(
    _MEN,
    _WOMEN,
    men=words(_SHORT_MEN),
    women=words(_SHORT_WOMEN),
    but=words(
        """dan jedan nijedan član plan stan roman organ ekran ocean tjedan građan kamen plamen pojam studen žena cijena cena
        strana hrana jedna nijedna istina sudbina porodica scena promjena promena pjena rana grana brana tišina obrana
        odbrana borba briga čovjek komunikacija situacija energija porodica familija ambicija fizika emocija baterija
        linija historija istorija tragedija fotografija terapija opcija odgovornost glava država zabava trava krava
        zastava ustav splav nastava stava ljubav pojava uprava dijete kompanija akcija nacija ptica godina većina
        muški ženski svaki neki nikakav nekakav kakav kakva svakakav veza data rata sata plata plaćata nađen_
        učenik učiteljica vrata pita aktivan_ koliki toliki vremena imena strahovita sjena sena mana dana
        strana povijest povest odmalena vremenski"""
    ),
)


def noun(word: str, gender: Gender) -> bool:
    """A nominative noun: men's end in a consonant or are agents in -a, women's in -a or -ost."""
    if gender == FEMININE:
        return word.endswith(("a", "ost"))
    if word.endswith(("vođa", "ista", "kolega", "tata", "sudija")):
        return True
    # A long form in -i ("javni govornik") stands before a noun, hence the -i.
    return word[-1] not in "aeou" and not word.endswith(("em", "om", "im", "ih", "š", "og", "eg", "ti", "ći"))


GRAMMAR = AuxiliaryGrammar(
    auxiliaries=words("sam nisam bih jesam"),
    copulas=words("sam nisam jesam"),
    participle=by_endings(
        "[aieu]o|šao",
        "la",
        but=words(
            """kao nekao posao dio deo ugao misao pakao orao anđeo predio predeo udio udeo odio odeo studio audio posla
            trio zao topao okrugao cio ceo veseo debeo zreo kiseo bijeo nagao podao običao scenario
            škola sila hvala šala skala cigla igla obala mala cijela cela zla tijela tela odijela odela stabla ogledala
            načela zrela bijela bela vesela debela kisela topla okrugla sela vrela skela kapela djela dela svjetla svetla
            cvjetala budala pčela jela_ strijela strela vila ostala stala_ dala_ pravila_ mahala sala obla kola nagla
            podla hitla ciklu zdjela zdela para"""
        ),
    ),
    ambiguous=words("radio video pravila jela ostala vila studio mila mio"),
    predicates=Predicates(
        adjective=ADJECTIVE,
        noun=noun,
        prepositions=PREPOSITIONS,
        function_words=FUNCTION_WORDS,
        coordinators=COORDINATORS,
        with_complement=words("pun puna sposoban sposobna vrijedan vredan vrijedna vredna zahvalan zahvalna vjeran verna vjerna veran"),
    ),
    openers=words("da jer kad kada ako koji koja koje kojeg kojoj kojem kojima što dok iako gdje gde kako čim ali nego pa"),
    agreeing={"sama": FEMININE},
    third_persons=words("on ona je nije su moj moja muž žena partner"),
    pronouns=words("ja"),
    comparatives=words("nego kao sebe sebi sobom"),
)
_ = MASCULINE
