"""The site: ``pip install -e ".[docs]"``, then ``sphinx-build -W -b html docs docs/_build``. Nothing is fetched."""

import os
import sys
from pathlib import Path

import matplotlib
from sphinx_gallery.sorting import ExplicitOrder

import subbundle

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]
matplotlib.use("agg")
(HERE / "_scenes").mkdir(exist_ok=True)

project = "subbundle"
author = "The subbundle developers"
copyright = "The subbundle developers, BSD 3-Clause licence"
version = release = subbundle.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
    "references",
    "measured",
    "command_help",
    "scenes",
]
# How long examples took is no page: it differs from build to build, and fetches its scripts from elsewhere.
exclude_patterns = ["_build", "_scenes", "images", "**/GALLERY_HEADER.rst", "**sg_execution_times.rst"]
templates_path = ["_templates"]
default_role = "py:obj"
nitpicky = True

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
# The gallery's own index has sections that no toctree of ours repeats.
suppress_warnings = ["config.cache"]

autosummary_generate = True
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "subsection_order": ExplicitOrder(
        [f"../examples/{name}" for name in ("tables", "scans", "manifolds", "choosing", "geometry", "limits")]
    ),
    "within_subsection_order": "scenes.InOrderOfHeader",
    # Real tables from a package that the site does not need: pictures of the guide.
    "ignore_pattern": r"plot_(earthquakes|muscle_covariances)\.py",
    "backreferences_dir": "reference/minigalleries",
    "doc_module": ("subbundle",),
    "image_scrapers": ("matplotlib", "scenes.scrape"),
    "reset_modules": ("matplotlib", "scenes.refuse_warnings"),
    "capture_repr": ("_repr_html_", "__repr__"),
    "ignore_repr_types": r"matplotlib|viewer",
    "matplotlib_animations": (True, "jshtml"),
    "remove_config_comments": True,
    "show_memory": False,
    # Examples in as many processes as there are processors.
    "parallel": os.cpu_count(),
    "show_signature": False,
    "min_reported_time": 1e9,
    "copyfile_regex": r".*\.rst",
}

html_theme = "pydata_sphinx_theme"
html_title = "subbundle"
html_static_path = ["_static"]
html_extra_path = ["_scenes"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "subbundle"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navigation_depth": 2,
    "show_nav_level": 1,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
# Pages that stand alone have nothing to list beside them.
html_sidebars = {
    name: [] for name in ("index", "glossary", "which_tool", "benchmarks", "paper", "limits", "development", "changes")
}
html_context = {"default_mode": "auto"}
