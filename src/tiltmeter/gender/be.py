"""Belarusian: *я прыйшла*, *я б хацеў*, *я рада*, *я моцны*, *сама*."""

import re

from tiltmeter.gender.clauses import (
    FEMININE,
    MASCULINE,
    Gender,
    PredicateAdjectives,
    build_ending_rule,
    parse_word_list,
)
from tiltmeter.gender.pronoun_grammar import PronounGrammar

PREPOSITIONS = parse_word_list(
    """аб ад акрамя без ва вакол да дзеля дзякуючы для з за зь к каля ля між на над наконт па пад паміж перад пасля
    пра праз пры са супраць сярод у ў"""
)

FUNCTION_WORDS = parse_word_list(
    """а абсалютна адзін адна але альбо амаль ані б больш менш бы быў была быць буду вельмі вось вы гэта гэты гэтая
    даволі дастаткова дзе добра ды ёй ёсць ж жа заўсёды заўтра занадта зараз зусім і ім іх й каб калі калісьці кожны
    кожная лепш мае мая мне мной мой мяне можа мы навошта надта настолькі наколькі нават не нешта ні ніколі нічога ну
    ён яна яны паколькі проста раз разам сам сама свой сябе сабе сапраўды сёння так такая такі таксама там тады ты
    табе то той толькі трохі туды тут тым учора ўчора ужо ўжо усё ўсё усе ўсе усім ўсім хто цалкам часам часта чаму
    чым што штодзень штосьці я як якая які яго яе"""
)

COORDINATORS = parse_word_list("і й ды або альбо ці але а ні")

LIGHT_WORDS = parse_word_list(
    """не ніколі заўсёды б бы часта часам ужо ўжо яшчэ проста таксама зноў потым аднойчы даўно нядаўна адразу ўчора
    учора сёння неяк нарэшце вельмі толькі нават"""
)

# Masculine past forms without -ў: дапамог, прынёс, прывык. Their feminine forms are regular.
_PREFIX = "(?:па|з|вы|пера|пры|пра|за|на|ад|у|ў|уз|ўз|да|аб|пад|раз|с|а){0,2}"
_ROOT = (
    "мог|нёс|вёз|лез|рос|рас|бег|лёг|сцярог|бярог|пёк|цёк|вык|нік|мёрз|мерз|мёр|мок|сяг|цёр|цер|глух|слеп|ціх|моўк|прог|"
    "пёр|пер|пас"
)

PAST = build_ending_rule(
    rf"[аеёіуыэ]ў(?:ся)?|(?<!нн)(?<!цц)(?<!лл)(?<!сс)яў(?:ся)?|(?:ш|бар|кал|пал|мал|пар)оў(?:ся)?|^{_PREFIX}(?:{_ROOT})(?:ся)?",
    "[а-яёіў]ла(?:ся)?",
    exceptions=parse_word_list(
        """школа сіла скала пчала страла цела пахвала зла шкла чысла масла віла смала акула мала міла цэла светла
        весяла кісла цёпла кругла гнеў спеў леў роў запас раз нарас сліў кліентаў магчымасцяў мерапрыемстваў
        намаганняў рашэнняў рэсурсаў пачуццяў адносінаў людзей грошаў сродкаў навыкаў памылак хлопцаў калегаў
        партнёраў супрацоўнікаў"""
    ),
)

ADJECTIVE = build_ending_rule(
    "[нтлрвдбпмсзшжц]ы|(?<!г)чы|[кгх]і|ні",
    "ая|няя",
    masculine_words=parse_word_list("рад павінен вінен гатоў здароў"),
    feminine_words=parse_word_list("рада павінна вінна гатова здарова"),
    exceptions=parse_word_list(
        """мая твая свая людзі дзеці грошы справы рэчы праблемы кнігі сродкі думкі навыкі ногі рукі словы планы межы
        гульні вечары адносіны правы умовы гады разы часы каманды песні валасы вопраткі адзежы сябры бацькі правілы
        памылкі паводзіны жонкі мамы хаты работы працы фірмы групы краіны секунды мухі хвіліны гадзіны"""
    ),
)


def can_be_noun(word: str, gender: Gender) -> bool:
    """Could be a nominative noun: masculine in a consonant, feminine in -а, -я or -ь."""
    if gender == FEMININE:
        return word.endswith(("а", "я", "ь")) and not word.endswith(("ць", "цца"))
    return word[-1:] not in "аеёіоуыэюя" and not word.endswith(
        ("ам", "ем", "ым", "ім", "аў", "оў", "яў", "ах", "ях", "ей", "ць")
    )


# Predicate adjectives in the instrumental: буду моцным, буду моцнай.
INSTRUMENTAL = PredicateAdjectives(
    adjective=build_ending_rule(
        "[а-яёіў]ым|[кгх]ім|нім", "[нтлрвдкгхшчжц]ай|няй", exceptions=parse_word_list("чым тым усім ўсім")
    ),
    noun=lambda word, gender: word.endswith(("ай", "яй", "ой", "ю") if gender == FEMININE else ("ам", "ем", "ом")),
    prepositions=PREPOSITIONS,
    function_words=FUNCTION_WORDS | parse_word_list("такой такім якой якім самой самім сваёй сваім маёй маім"),
    coordinators=COORDINATORS,
    adverbs=("на", "ва", "ла", "та", "ка", "ша", "ча", "о"),
)

GRAMMAR = PronounGrammar(
    past=PAST,
    ambiguous=parse_word_list("дзела правіла мыла піла"),
    predicates=PredicateAdjectives(
        adjective=ADJECTIVE,
        noun=can_be_noun,
        prepositions=PREPOSITIONS,
        function_words=FUNCTION_WORDS,
        coordinators=COORDINATORS,
        with_complement=parse_word_list(
            "поўны поўная варты вартая здольны здольная ўдзячны ўдзячная удзячны верны верная адданы"
        ),
        adverbs=("на", "ва", "ла", "та", "ка", "ша", "ча", "о"),
    ),
    copulas=parse_word_list("буду"),
    instrumental=INSTRUMENTAL,
    first_person=re.compile("^(?:я|мяне|мне|мной)$|[ую](?:ся)?$"),
    light_words=LIGHT_WORDS,
    objects=parse_word_list("мяне мне мной мною"),
    other_subjects=parse_word_list(
        """ён яна яно яны ты хто ніхто хтосьці нехта кожны кожная які якая гэта з мой мая муж жонка партнёр партнёрка
        мама маці бацька сын дачка"""
    ),
    not_subject_after=parse_word_list("чым як за ў у на"),
    # Genitive plurals in -аў look like past verbs: шмат рэсурсаў, сваіх калегаў.
    noun_after=re.compile(
        "(?<!^)[аіыую]х$|^(?:шмат|многа|мала|больш|менш|колькі|некалькі|пяць|шэсць|сем|восем|дзевяць|дзесяць)$"
    ),
    # Unstressed -о is spelt -а, so these neuter forms look feminine.
    neuter=("лася", "хапіла", "хапала", "бракавала", "шанцавала"),
    infinitive_endings=("ць", "цца", "чы", "чыся", "ці"),
    oblique_endings=("аў", "оў", "яў", "ей", "эй", "ам", "ям", "ах", "ях", "ем", "ой", "ым", "ім", "ых", "іх", "га"),
    openers=parse_word_list("што каб калі хоць бо"),
    agreeing={"сам": MASCULINE, "сама": FEMININE, "адзін": MASCULINE, "адна": FEMININE},
)
