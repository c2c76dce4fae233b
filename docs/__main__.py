"""``python -m docs``: build the site into docs/_build; warnings, dead links and files of other servers are errors.

Further arguments go to sphinx-build.
"""

import sys
from pathlib import Path

from sphinx.cmd.build import main

HERE = Path(__file__).parent
failed = main(["-W", "--keep-going", "-b", "html", *sys.argv[1:], str(HERE), str(HERE / "_build")])
sys.path.insert(0, str(HERE / "_ext"))
from links import dead_links

dead = dead_links(HERE / "_build")
print("\n".join(f"wrong link: {link}" for link in dead), end="\n" if dead else "")
sys.exit(failed or bool(dead))
