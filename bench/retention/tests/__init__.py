"""Tests of the evaluator on small hand-made cases.

    python3 -m unittest discover -s bench/retention/tests -t bench/retention
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
