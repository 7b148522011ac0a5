"""Settings of the documentation site; `make docs` builds it."""

import os
import warnings

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
    "within_subsection_order": ExplicitOrder(
        [
            "plot_how_it_works.py",
            "plot_tables.py",
            "plot_compare.py",
            "plot_imbalanced.py",
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
