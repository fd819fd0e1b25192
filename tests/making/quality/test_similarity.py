import pytest

from tiltmeter.making.quality.similarity import compute_chrf

# Values of sacrebleu 2.6.0, `CHRF().sentence_score(text, [reference])`.
SACREBLEU = [
    ("El cocinero era paciente hoy.", "El cocinero fue muy paciente hoy.", 68.25739286590051),
    ("a", "abc", 38.46153846153846),
    ("The cat sat.", "A dog ran off.", 3.0864197530864197),
    ("Ο σκύλος", "Η γάτα κοιμάται", 2.824858757062147),
    ("niño", "niños pequeños", 24.926807998172798),
]


@pytest.mark.parametrize(("text", "reference", "score"), SACREBLEU)
def test_a_sentence_has_the_value_of_sacrebleu(text: str, reference: str, score: float) -> None:
    assert 100 * compute_chrf([(text, reference)]) == pytest.approx(score, abs=1e-9)


def test_a_corpus_has_the_value_of_sacrebleu() -> None:
    pairs = [(text, reference) for text, reference, _ in SACREBLEU]
    assert 100 * compute_chrf(pairs) == pytest.approx(36.81392882391678, abs=1e-9)


def test_empty_texts() -> None:
    assert compute_chrf([]) == 0.0
    assert compute_chrf([("", "abc")]) == 0.0
