"""The viewer: point clouds, meshes, models and reports in a browser, a notebook, or one stand-alone file.

    objects ─► `gathering` ─► Scene ─► `packing` ─► page (one file) | server (loopback) | widget (notebook)

Drawing is done by three.js, which comes with the installed package ``k3d``; its code is inserted when the page is
written and is not part of this project. The modules in ``static/`` do the linking, picking and colouring.
"""

from subbundle.viewer.front import View, view
from subbundle.viewer.report import Account, Choice, report

__all__ = ["Account", "Choice", "View", "report", "view"]
