"""Names in docstrings become links: `ridge_project` leads to ``subbundle.ridge_project``, wherever it is defined.

Docstrings put any name in single backticks, also those of arguments, of other packages and of private helpers. What is
in the reference is linked; the rest stays as it is written. Links between pages are MyST's, and those are checked.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode


def resolve(app, env, node, contnode):
    """The documented object whose dotted name ends like the target, the shortest of several; else plain text."""
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"].lstrip(".~!")
    objects = env.domaindata["py"]["objects"]
    found = sorted((name for name in objects if name == target or name.endswith("." + target)), key=len)
    # ``subbundle.bundles.principal.PrincipalSubbundle`` is documented by the name under which users have it.
    if not found and target.startswith("subbundle."):
        found = sorted((name for name in objects if name.endswith("." + target.rpartition(".")[2])), key=len)
    if not found:
        return contnode if isinstance(contnode, nodes.Node) else nodes.literal(target, target)
    entry = objects[found[0]]
    return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, contnode, found[0])


def escape_formulas(app, what, name, obj, options, lines):
    """|x| and [n, *shape] are formulas here, not markup of reStructuredText; code is left alone."""
    literal, rules = False, 0
    for number, line in enumerate(lines):
        # The columns of a table between its three rules must keep their width.
        rules += bool(re.fullmatch(r"\s*=+(\s+=+)+\s*", line))
        if literal and line.strip() and not line.startswith(" "):
            literal = False
        if not literal and rules % 3 == 0 and ">>>" not in line:
            pieces = re.split(r"(``.*?``)", line)
            pieces[::2] = [re.sub(r"(?<!\\)\||(?<![\w*])\*(?=[\w.]+[],])", r"\\\g<0>", piece) for piece in pieces[::2]]
            lines[number] = "".join(pieces)
        literal = literal or line.rstrip().endswith("::")


_INHERITED = re.compile(
    r"(get_metadata_routing|set_output|set_\w+_request|get_params|set_params|get_feature_names_out)"
)


def skip_members_of_others(app, what, name, obj, skip, options):
    """What every estimator inherits from scikit-learn is documented there."""
    return True if _INHERITED.fullmatch(name.rpartition(".")[2]) else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the resolver and the two filters; formulas come before numpydoc (500) adds its own markup."""
    app.connect("missing-reference", resolve)
    app.connect("autodoc-process-docstring", escape_formulas, priority=400)
    app.connect("autodoc-skip-member", skip_members_of_others)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
