import sys
from pathlib import Path

# Makes the helper module `labelled` importable.
sys.path.insert(0, str(Path(__file__).parent))
