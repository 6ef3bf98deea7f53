"""Settings of Sphinx for the documentation site; ``make docs`` builds it."""

import os

import simkit

project = "simkit"
author = "the authors of simkit"
release = version = simkit.__version__
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]
# Several classes have attributes of one name, and types of attributes are looked up by name.
suppress_warnings = ["ref.python"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

# Notebooks are executed with the code that the site describes, and again only where code or notebook changed.
nb_execution_mode = "cache"
nb_execution_cache_path = os.environ.get("SIMKIT_SITE_CACHE", "")
nb_execution_timeout = 180
nb_execution_raise_on_error = True
nb_merge_streams = True

napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
autodoc_typehints = "signature"
autodoc_member_order = "alphabetical"
autodoc_class_signature = "mixed"
python_maximum_signature_line_length = 100

html_theme = "pydata_sphinx_theme"
html_title = "simkit"
html_theme_options = {
    "logo": {"text": "simkit", "image_light": "static/mark.svg", "image_dark": "static/mark.svg"},
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_with_keys": True,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["simkit.css", "site.css"]  # the first is made of simkit.present.design
html_favicon = "static/mark.svg"
html_search_scorer = os.path.join(
    os.path.dirname(__file__), "static", "search_scores.js"
)  # read from the folder of the run
copybutton_prompt_text = r">>> |\$ "
copybutton_prompt_is_regexp = True
