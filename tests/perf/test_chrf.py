"""chrF compared with the results of sacrebleu 2.6.0."""

import pytest

from perf.chrf import chrf

PAIRS = [
    ("El cocinero era muy paciente hoy.", "El cocinero estaba hoy muy paciente."),
    ("Nuestro vecino italiano cocina pasta.", "Nuestra vecina italiana prepara pasta."),
    ("Sí.", "No, gracias."),
]
REFERENCE = 50.50333834220106
REFERENCES = [64.86975469084778, 48.967200925553996, 3.546099290780142]


def test_chrf_equals_sacrebleu() -> None:
    assert chrf(PAIRS) == pytest.approx(REFERENCE, abs=1e-9)
    assert [chrf([pair]) for pair in PAIRS] == pytest.approx(REFERENCES, abs=1e-9)


def test_nothing_in_common() -> None:
    assert chrf([("abc", "xyz")]) == 0
    assert chrf([("", "")]) == 0
