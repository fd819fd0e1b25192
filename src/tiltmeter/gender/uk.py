"""Ukrainian: *я прийшла*, *я б хотів*, *я рада*, *я сильний*, *один*."""

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
    """без біля в у від для до з завдяки за заради зі замість із к крім між на над навколо о об окрім перед під після
    по поза при про проти ради серед через щодо"""
)

FUNCTION_WORDS = parse_word_list(
    """а абсолютно адже але б би більш менш більше буде буду був була бути вдома вже ви він вона вони все всі всього
    де декілька добре досить дома дуже ж же жодного завжди завтра занадто зараз знову зовсім і іноді її їй їм їх його
    й йому кілька кожен кожна коли лише майже мене мені мною може моя мій навіть навмання надзвичайно надто настільки
    наскільки не нема ніколи нічого один одна повністю просто раз разом раніше сам сама свій своя себе собі собою
    справді сьогодні та так така також такий там те тебе теж тепер ти тим тільки то тобі тоді того той треба трохи
    учора хіба хто хоч хоча цілком це цей ця часто чи чому що щоб щодня щороку щотижня вчора я як яка який якась якщо
    весь вся інший інша"""
)

COORDINATORS = parse_word_list("і й та або чи але а ні")

LIGHT_WORDS = parse_word_list(
    """не ніколи завжди б би часто іноді вже ще просто теж також знову потім одного давно недавно відразу одразу вчора
    учора сьогодні якось взимку влітку восени навесні нарешті дуже тільки навіть"""
)

# Masculine past forms in -ів, which is otherwise a genitive plural ending of nouns: друзів, років.
_IV = (
    "(?:хот|сид|ненавид|завид|розум|терп|вол|лет|хвор|волод|жал|шал|сум|рад|багат|червон|гор|гляд|верт|міцн|кип|тремт|"
    "слаб|худн|(?:^|з|у|в|зу)м|відпов|см)ів"
)

# Masculine past forms without -в: допоміг, приніс, звик. Their feminine forms are regular.
_PREFIX = "(?:по|з|зо|ви|пере|при|про|за|на|від|у|в|до|об|під|роз|с|о|зне){0,2}"
_ROOT = (
    "міг|ліг|ріс|ніс|віз|біг|пік|тік|сік|стеріг|беріг|тяг|вик|ник|мерз|мок|мер|тер|сяг|стиг|сліп|глух|тих|мовк|ліз|гріб|"
    "шкріб|пріг|пер|пас|дяг|волік"
)

PAST = build_ending_rule(
    rf"[аеиуяюїє]в(?:ся|сь)?|(?:ш|бор|кол|пол|мол|пор)ов(?:ся|сь)?|[св]ів(?:ся)?|{_IV}(?:ся|сь)?|^{_PREFIX}(?:{_ROOT})(?:ся|сь)?",
    "[а-яґєії]ла(?:ся|сь)?",
    exceptions=parse_word_list(
        """школа сила скала бджола стріла тіла похвала горила зла скла числа масла вілла смола акула ціла світла
        весела кисла тепла кругла підла нагла гола біла смілa зріла слав рукав сплав спів рев лев обрив порив прорив
        розрив колектив масив архів інтерв'ю запас одяг потік витік злив часів голосів процесів класів"""
    ),
)

ADJECTIVE = build_ending_rule(
    "ий|[^аеиоуіїєюя]ій",
    "[нтлрвдбпмсзкгхжшщч]а|(?<!н)ня",
    masculine_words=parse_word_list("рад винен повинен певен готов здоров ладен згоден"),
    exceptions=parse_word_list(
        """свій мій твій людина дитина жінка дружина мама голова справа робота родина країна сторона ціна вина війна
        стіна година хвилина машина частина вершина сцена зміна рана охорона потреба допомога перевага думка команда
        влада порада правда мова весна книга вага увага звичка зірка кімната дата вечірка їжа душа подруга сестра
        донька бабуся дорога тривога краса група проблема система тема лікаря тата брата друга партнера начальника
        чоловіка собака свята різдва вдова удова бабця"""
    ),
)


def can_be_noun(word: str, gender: Gender) -> bool:
    """Could be a nominative noun: masculine in a consonant, feminine in -а, -я or -ь."""
    if gender == FEMININE:
        return word.endswith(("а", "я", "ь"))
    return word[-1:] not in "аеиоуіїєюя" and not word.endswith(("ом", "ем", "им", "ім", "ів", "ах", "ях", "ей", "ий"))


# Predicate adjectives in the instrumental: буду сильним, буду сильною.
INSTRUMENTAL = PredicateAdjectives(
    adjective=build_ending_rule(
        "[а-яґєії]им|[^аеиоуіїєюя]ім", "[нтлрвдкгхшщчж]ою|ньою", exceptions=parse_word_list("чим тим цим всім усім нею")
    ),
    noun=lambda word, gender: word.endswith(("ою", "ею", "єю", "ю") if gender == FEMININE else ("ом", "ем", "єм")),
    prepositions=PREPOSITIONS,
    function_words=FUNCTION_WORDS | parse_word_list("такою таким якою яким самою самим своєю своїм моєю моїм"),
    coordinators=COORDINATORS,
    adverbs=("о", "е", "ськи", "цьки"),
)

GRAMMAR = PronounGrammar(
    past=PAST,
    ambiguous=parse_word_list("мотив вплив прав справ гнів актив діла правила мила пила"),
    predicates=PredicateAdjectives(
        adjective=ADJECTIVE,
        noun=can_be_noun,
        prepositions=PREPOSITIONS,
        function_words=FUNCTION_WORDS,
        coordinators=COORDINATORS,
        with_complement=parse_word_list(
            "повен повна гідний гідна здатний здатна вдячний вдячна вірний вірна відданий віддана"
        ),
        adverbs=("о", "е", "ськи", "цьки"),
    ),
    copulas=parse_word_list("буду"),
    instrumental=INSTRUMENTAL,
    first_person=re.compile("^(?:я|мене|мені|мною)$|[ую](?:ся|сь)?$"),
    light_words=LIGHT_WORDS,
    objects=parse_word_list("мене мені мною"),
    other_subjects=parse_word_list(
        """він вона воно вони ти хто ніхто хтось кожен кожна який яка це з із мій моя чоловік дружина партнер
        партнерка мама мати батько син дочка"""
    ),
    not_subject_after=parse_word_list("ніж як від за в у на"),
    infinitive_endings=("ти", "тися", "тись"),
    oblique_endings=("ів", "їв", "ей", "ам", "ям", "ах", "ях", "ом", "ем", "єм", "ою", "им", "ім", "их", "го"),
    openers=parse_word_list("що щоб коли якщо хоча бо"),
    agreeing={"один": MASCULINE, "одна": FEMININE, "сам": MASCULINE, "сама": FEMININE},
)
