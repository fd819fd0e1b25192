import sys
from pathlib import Path

# The tests are imported by path, so that their helper has to be findable too.
sys.path.insert(0, str(Path(__file__).parent))
