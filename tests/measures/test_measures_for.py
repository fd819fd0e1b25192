import pytest

from tiltmeter.errors import UsageError
from tiltmeter.measures import association, measures_for


def test_finds_a_module_by_name() -> None:
    assert measures_for("association") is association.measure


@pytest.mark.parametrize("name", ["none-such", "records", "os.path", "", "..errors"])
def test_what_is_not_there_is_a_usage_error(name: str) -> None:
    with pytest.raises(UsageError, match="no measures called"):
        measures_for(name)
