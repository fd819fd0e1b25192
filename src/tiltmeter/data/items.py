"""The item classes by the names under which they were imported before `tiltmeter.forms` held them."""

from tiltmeter.forms.association import PARTS, ROLES, AssociationItem, Candidate, Part, Role
from tiltmeter.forms.blank import BLANK
from tiltmeter.forms.form import Item
from tiltmeter.forms.gendered_pairs import GenderedPairItem
from tiltmeter.forms.gest import TEMPLATES, GestItem
from tiltmeter.forms.pairs import PairItem
from tiltmeter.forms.winobias import WinoBiasItem

__all__ = [
    "BLANK",
    "PARTS",
    "ROLES",
    "TEMPLATES",
    "AssociationItem",
    "Candidate",
    "GenderedPairItem",
    "GestItem",
    "Item",
    "PairItem",
    "Part",
    "Role",
    "WinoBiasItem",
]
