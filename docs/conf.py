"""Settings of the documentation site; `make docs` builds it."""

import os
import re
import warnings

from docutils import nodes
from sphinx_gallery.sorting import ExplicitOrder

from dirichletgp import __version__

os.environ.setdefault("MPLBACKEND", "Agg")
warnings.filterwarnings("error", category=DeprecationWarning, module="dirichletgp")

project = "dirichletgp"
author = copyright = "The dirichletgp developers"
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "auto_examples/*.ipynb", "auto_examples/*.py", "auto_examples/*.zip"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]

autodoc_typehints = "none"  # numpydoc sections say it in words
autosummary_generate = True
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "auto_examples",
    "doc_module": ("dirichletgp",),
    "backreferences_dir": "generated/backreferences",  # which examples use which public name
    "within_subsection_order": ExplicitOrder(
        [
            "plot_how_it_works.py",
            "plot_tables.py",
            "plot_calibration.py",
            "plot_compare.py",
            "plot_imbalanced.py",
            "plot_uncertainty.py",
            "plot_intervals.py",
            "plot_sets.py",
            "plot_costs.py",
            "plot_explanations.py",
            "plot_label_issues.py",
            "plot_crowd.py",
            "plot_out_of_distribution.py",
            "plot_active_learning.py",
            "plot_embeddings.py",
            "plot_pipelines.py",
        ]
    ),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1000,
}

html_theme = "furo"
html_title = f"dirichletgp {release}"
html_show_sourcelink = False
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["site.css"]


def link_gallery(app, docname, source):
    """Links to the scripts of examples, which work in the repository, lead to their pages here."""
    source[0] = re.sub(
        r"\((?:\.\./)+examples/gallery/(plot_\w+)\.py\)", r"(/auto_examples/\1.rst)", source[0]
    )


def link_sklearn(app, env, node, contnode):
    """Names of scikit-learn in docstrings lead to its own pages; no inventory is downloaded."""
    target = node.get("reftarget", "")
    if not target.startswith("sklearn."):
        return None
    address = f"https://scikit-learn.org/stable/modules/generated/{target}.html"
    return nodes.reference("", "", contnode, internal=False, refuri=address)


def setup(app):
    """What Sphinx calls first."""
    app.connect("source-read", link_gallery)
    app.connect("missing-reference", link_sklearn)
