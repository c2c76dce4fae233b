"""``python -m docs``: build the site into docs/_build; warnings are errors. Further arguments go to sphinx-build."""

import sys
from pathlib import Path

from sphinx.cmd.build import main

HERE = Path(__file__).parent
sys.exit(main(["-W", "--keep-going", "-b", "html", *sys.argv[1:], str(HERE), str(HERE / "_build")]))
