import pytest

from tests.support.messages import raises_mentioning
from tiltmeter.errors import DataError
from tiltmeter.gender import Gender
from tiltmeter.gender.conllu import ParsedSentence, find_conllu_gender, read_conllu


def parse(text: str) -> ParsedSentence:
    """Build a sentence from lines with form, lemma, upos, features, head and relation."""
    rows = [line.split() for line in text.strip().splitlines()]
    lines = [
        f"{number}\t{form}\t{lemma}\t{upos}\t_\t{features}\t{head}\t{relation}\t_\t_"
        for number, (form, lemma, upos, features, head, relation) in enumerate(rows, start=1)
    ]
    return next(read_conllu(lines, "test"))


SENTENCES: dict[str, tuple[str, Gender | None]] = {
    "participle": (
        """Ráno      ráno    ADV  _                                           3 advmod
           som       byť     AUX  Number=Sing|Person=1                        3 aux
           spala     spať    VERB Gender=Fem|Number=Sing|VerbForm=Part        0 root""",
        "feminine",
    ),
    "predicate adjective": (
        """Nejsem    být     AUX  Number=Sing|Person=1|Polarity=Neg           2 cop
           unavený   unavený ADJ  Case=Nom|Gender=Masc|Number=Sing            0 root""",
        "masculine",
    ),
    "attributive adjective": (
        """Som         byť         AUX  Number=Sing|Person=1                    3 cop
           dobrý       dobrý       ADJ  Case=Nom|Gender=Masc|Number=Sing        3 amod
           hudobník    hudobník    NOUN Case=Nom|Gender=Masc|Number=Sing        0 root""",
        None,
    ),
    "auxiliary with a noun": (
        """Я        я       PRON Case=Nom|Number=Sing|Person=1               3 nsubj
           была     быть    AUX  Gender=Fem|Number=Sing|Tense=Past           3 cop
           врачом   врач    NOUN Case=Ins|Gender=Masc|Number=Sing            0 root""",
        "feminine",
    ),
    "pronoun that is no subject": (
        """Меня     я       PRON Case=Acc|Number=Sing|Person=1               2 obj
           удивила  удивить VERB Gender=Fem|Number=Sing|Tense=Past           0 root
           новость  новость NOUN Case=Nom|Gender=Fem|Number=Sing             2 nsubj""",
        None,
    ),
    "mobile ending": (
        """Poszła   pójść   VERB Gender=Fem|Number=Sing|Tense=Past           0 root
           m        być     AUX  Number=Sing|Person=1                        1 aux:clitic""",
        "feminine",
    ),
    "third person": (
        """Manžel   manžel  NOUN Case=Nom|Gender=Masc|Number=Sing            2 nsubj
           spal     spať    VERB Gender=Masc|Number=Sing                     0 root""",
        None,
    ),
    "plural": (
        """Sme      byť     AUX  Number=Plur|Person=1                        2 aux
           spali    spať    VERB Gender=Masc|Number=Plur                     0 root""",
        None,
    ),
    "conditional without person": (
        """Rada     rad     ADJ  Case=Nom|Gender=Fem|Number=Sing             3 advmod
           bi       biti    AUX  Mood=Cnd|VerbForm=Fin                       3 aux
           plavala  plavati VERB Gender=Fem|Number=Sing|VerbForm=Part        0 root""",
        "feminine",
    ),
    "conditional of somebody else": (
        """Sosed    sosed   NOUN Case=Nom|Gender=Masc|Number=Sing            3 nsubj
           bi       biti    AUX  Mood=Cnd|VerbForm=Fin                       3 aux
           plaval   plavati VERB Gender=Masc|Number=Sing|VerbForm=Part       0 root""",
        None,
    ),
    "agreeing word": (
        """Rád      rád     ADJ  Case=Nom|Gender=Masc|Number=Sing            2 advmod
           čítam    čítať   VERB Number=Sing|Person=1                        0 root""",
        "masculine",
    ),
    "infinitive": (
        """Chcem     chcieť    VERB Number=Sing|Person=1                     0 root
           byť       byť       AUX  VerbForm=Inf                             3 cop
           trpezlivá trpezlivý ADJ  Case=Nom|Gender=Fem|Number=Sing          1 xcomp""",
        "feminine",
    ),
    "feminine or neuter": (
        """Přišla   přijít  VERB Gender=Fem,Neut|Number=Plur,Sing            0 root
           jsem     být     AUX  Number=Sing|Person=1                        1 aux""",
        "feminine",
    ),
    "the first gender counts": (
        """Bol      byť     AUX  Gender=Masc|Number=Sing                     3 cop
           som      byť     AUX  Number=Sing|Person=1                        3 aux
           unavená  unavený ADJ  Case=Nom|Gender=Fem|Number=Sing             0 root""",
        "masculine",
    ),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_gender_from_features(name: str) -> None:
    text, gender = SENTENCES[name]
    assert find_conllu_gender(parse(text).words) == gender


def test_the_cue_and_the_rule_are_given() -> None:
    detected = find_conllu_gender(parse(SENTENCES["participle"][0]).words, explain=True)
    assert (detected.cue, detected.rule) == (("spala",), "head of som")


def test_multiword_tokens_comments_and_empty_nodes() -> None:
    lines = [
        "# sent_id = 1",
        "# text = Poszłam.",
        "1-2\tPoszłam\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No",
        "1\tPoszła\tpójść\tVERB\t_\tGender=Fem|Number=Sing\t0\troot\t_\t_",
        "2\tm\tbyć\tAUX\t_\tNumber=Sing|Person=1\t1\taux:clitic\t_\t_",
        "2.1\t_\t_\t_\t_\t_\t_\t_\t_\t_",
        "3\t.\t.\tPUNCT\t_\t_\t1\tpunct\t_\t_",
        "",
        "",
        "1\tTak\ttak\tPART\t_\t_\t0\troot\t_\t_",
    ]
    first, second = read_conllu(lines, "test")
    assert (first.text, second.text) == ("Poszłam.", "Tak")
    assert [word.form for word in first.words] == ["Poszła", "m", "."]
    assert find_conllu_gender(first.words) == "feminine"
    assert find_conllu_gender(second.words) is None


GOOD = "1\tspala\tspať\tVERB\t_\tGender=Fem\t0\troot\t_\t_"


@pytest.mark.parametrize(
    ("lines", "parts"),
    [
        ([GOOD, "", "1 spala"], ["line 3", "1 columns", "10"]),
        ([GOOD.replace("1\t", "x\t", 1)], ["line 1", "id 'x'", "head '0'"]),
        ([GOOD.replace("\t0\t", "\t_\t")], ["line 1", "id '1'", "head '_'"]),
        ([GOOD.replace("=", ":")], ["line 1", "features 'Gender:Fem'", "Gender=Fem|Number=Sing"]),
        ([GOOD, GOOD], ["line 2", "word 1 follows word 1"]),
        (["# text = a", GOOD.replace("\t0\t", "\t7\t")], ["line 2", "head of word 1", "7"]),
    ],
)
def test_errors_name_the_file_and_the_line(lines: list[str], parts: list[str]) -> None:
    with raises_mentioning(DataError, "f.conllu", *parts):
        list(read_conllu(lines, "f.conllu"))
