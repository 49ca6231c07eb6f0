"""Tests of the readers' packets, sheets and table on small hand-made cases.

    python3 -m unittest discover -s bench/readers/tests -t bench/readers
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent / "retention")]
