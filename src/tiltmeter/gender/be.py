"""The speaker's gender in Belarusian: *я прыйшла*, *я б хацеў*, *я рада*, *я моцны*, *сама*."""

import re

from tiltmeter.gender.clauses import PredicateAdjectives, build_ending_rule, build_noun_rule, map_genders, parse_words
from tiltmeter.gender.pronoun_grammar import PronounGrammar

PREPOSITIONS = parse_words(
    """аб ад акрамя без ва вакол да дзеля дзякуючы для з за зь к каля ля між на над наконт па пад паміж перад пасля
    пра праз пры са супраць сярод у ў"""
)

FUNCTION_WORDS = parse_words(
    """а абсалютна адзін адна але альбо амаль ані б больш менш бы быў была быць буду вельмі вось вы гэта гэты гэтая
    даволі дастаткова дзе добра ды ёй ёсць ж жа заўсёды заўтра занадта зараз зусім і ім іх й каб калі калісьці кожны
    кожная лепш мае мая мне мной мой мяне можа мы навошта надта настолькі наколькі нават не нешта ні ніколі нічога ну
    ён яна яны паколькі проста раз разам сам сама свой сябе сабе сапраўды сёння так такая такі таксама там тады ты
    табе то той толькі трохі туды тут тым учора ўчора ужо ўжо усё ўсё усе ўсе усім ўсім хто цалкам часам часта чаму
    чым што штодзень штосьці я як якая які яго яе"""
)

COORDINATORS = parse_words("і й ды або альбо ці але а ні")

LIGHT_WORDS = parse_words(
    """не ніколі заўсёды б бы часта часам ужо ўжо яшчэ проста таксама зноў потым аднойчы даўно нядаўна адразу ўчора
    учора сёння неяк нарэшце вельмі толькі нават"""
)

# Prefixes and roots of masculine past forms without -ў: дапамог, прынёс, прывык. Their feminine forms are regular.
_PREFIX = "(?:па|з|вы|пера|пры|пра|за|на|ад|у|ў|уз|ўз|да|аб|пад|раз|с|а){0,2}"
_ROOT = (
    "мог|нёс|вёз|лез|рос|рас|бег|лёг|сцярог|бярог|пёк|цёк|вык|нік|мёрз|мерз|мёр|мок|сяг|цёр|цер|глух|слеп|ціх|моўк|прог|"
    "пёр|пер|пас"
)

PAST = build_ending_rule(
    rf"[аеёіуыэ]ў(?:ся)?|(?<!нн)(?<!цц)(?<!лл)(?<!сс)яў(?:ся)?|(?:ш|бар|кал|пал|мал|пар)оў(?:ся)?|^{_PREFIX}(?:{_ROOT})(?:ся)?",
    "[а-яёіў]ла(?:ся)?",
    exceptions=parse_words(
        """школа сіла скала пчала страла цела пахвала зла шкла чысла масла віла смала акула мала міла цэла светла
        весяла кісла цёпла кругла гнеў спеў леў роў запас раз нарас сліў кліентаў магчымасцяў мерапрыемстваў
        намаганняў рашэнняў рэсурсаў пачуццяў адносінаў людзей грошаў сродкаў навыкаў памылак хлопцаў калегаў
        партнёраў супрацоўнікаў"""
    ),
)

ADJECTIVE = build_ending_rule(
    "[нтлрвдбпмсзшжц]ы|(?<!г)чы|[кгх]і|ні",
    "ая|няя",
    masculine_words=parse_words("рад павінен вінен гатоў здароў"),
    feminine_words=parse_words("рада павінна вінна гатова здарова"),
    exceptions=parse_words(
        """мая твая свая людзі дзеці грошы справы рэчы праблемы кнігі сродкі думкі навыкі ногі рукі словы планы межы
        гульні вечары адносіны правы умовы гады разы часы каманды песні валасы вопраткі адзежы сябры бацькі правілы
        памылкі паводзіны жонкі мамы хаты работы працы фірмы групы краіны секунды мухі хвіліны гадзіны"""
    ),
)

CAN_BE_NOUN = build_noun_rule(
    feminine=("а", "я", "ь"),
    not_feminine=("ць", "цца"),
    vowels="аеёіоуыэюя",
    not_masculine=("ам", "ем", "ым", "ім", "аў", "оў", "яў", "ах", "ях", "ей", "ць"),
)

# Predicate adjectives in the instrumental: буду моцным, буду моцнай.
INSTRUMENTAL = PredicateAdjectives(
    adjective=build_ending_rule(
        "[а-яёіў]ым|[кгх]ім|нім", "[нтлрвдкгхшчжц]ай|няй", exceptions=parse_words("чым тым усім ўсім")
    ),
    noun=build_noun_rule(feminine=("ай", "яй", "ой", "ю"), masculine=("ам", "ем", "ом")),
    prepositions=PREPOSITIONS,
    function_words=FUNCTION_WORDS | parse_words("такой такім якой якім самой самім сваёй сваім маёй маім"),
    coordinators=COORDINATORS,
    adverbs=("на", "ва", "ла", "та", "ка", "ша", "ча", "о"),
)

GRAMMAR = PronounGrammar(
    past=PAST,
    ambiguous=parse_words("дзела правіла мыла піла"),
    predicates=PredicateAdjectives(
        adjective=ADJECTIVE,
        noun=CAN_BE_NOUN,
        prepositions=PREPOSITIONS,
        function_words=FUNCTION_WORDS,
        coordinators=COORDINATORS,
        with_complement=parse_words(
            "поўны поўная варты вартая здольны здольная ўдзячны ўдзячная удзячны верны верная адданы"
        ),
        adverbs=("на", "ва", "ла", "та", "ка", "ша", "ча", "о"),
    ),
    copulas=parse_words("буду"),
    instrumental=INSTRUMENTAL,
    first_person=re.compile("^(?:я|мяне|мне|мной)$|[ую](?:ся)?$"),
    light_words=LIGHT_WORDS,
    objects=parse_words("мяне мне мной мною"),
    other_subjects=parse_words(
        """ён яна яно яны ты хто ніхто хтосьці нехта кожны кожная які якая гэта з мой мая муж жонка партнёр партнёрка
        мама маці бацька сын дачка"""
    ),
    not_subject_after=parse_words("чым як за ў у на"),
    # After these words, a word in -аў is a noun in the genitive plural, not a past verb: шмат рэсурсаў, сваіх калегаў.
    noun_after=re.compile(
        "(?<!^)[аіыую]х$|^(?:шмат|многа|мала|больш|менш|колькі|некалькі|пяць|шэсць|сем|восем|дзевяць|дзесяць)$"
    ),
    # Unstressed -о is spelt -а, so these neuter verb forms look like feminine forms.
    neuter=("лася", "хапіла", "хапала", "бракавала", "шанцавала"),
    infinitive_endings=("ць", "цца", "чы", "чыся", "ці"),
    oblique_endings=("аў", "оў", "яў", "ей", "эй", "ам", "ям", "ах", "ях", "ем", "ой", "ым", "ім", "ых", "іх", "га"),
    openers=parse_words("што каб калі хоць бо"),
    agreeing=map_genders("сам адзін", "сама адна"),
)
