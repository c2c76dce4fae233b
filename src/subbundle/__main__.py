"""``python -m subbundle`` is the command ``subbundle``."""

import sys

from subbundle.cli import main

if __name__ == "__main__":
    sys.exit(main())
