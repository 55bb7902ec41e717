"""The documentation site: `make docs` builds it into build/docs, and any warning fails the build."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sphinx_gallery.sorting import FileNameSortKey

import separatrix

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ.setdefault("MPLBACKEND", "agg")
sys.modules["separatrix.zoo"] = separatrix.zoo  # under the name that users see, though it is no module of its own

project = "separatrix"
author = "The separatrix developers"
project_copyright = author
version = release = separatrix.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",  # the four doors of the first page
    "sphinx_gallery.gen_gallery",
    "commands",
    "drawn",
    "explorer",
    "mathematics",
    "members",
    "rooms",
    "scripts",
]
exclude_patterns = ["_ext", "_templates"]
templates_path = ["_templates"]
nitpicky = True
suppress_warnings = ["config.cache"]  # the gallery's options hold functions, which Sphinx does not store between builds

# Markdown pages are the source; headings can be linked to.
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "dollarmath"]
html_math_renderer = "mathml"

# Reference pages come from the docstrings, which name the types: signatures stay short.
autosummary_generate = True
smartquotes = False  # "lr-gd" is to be typed as it stands
default_role = "py:obj"  # `name` in a docstring: code, and a link where it is one of ours
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"
maximum_signature_line_length = 72  # longer ones begin their parameters on a line of their own
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
# Names of other packages, of Python and of arguments, and calls such as `solve(X, y)`: without the network there is no
# inventory to link the first to, and the last is code. Our own dotted names must be there.
nitpick_ignore_regex = [(r"py:.*", r"(?!separatrix(\.\w+)*$).*")]


def look(conf: object, name: str) -> None:
    """Pictures are cut to what is drawn, titles included."""
    import matplotlib as mpl

    mpl.rcParams["savefig.bbox"] = "tight"


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": FileNameSortKey,
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("separatrix",),
    "image_srcset": ["2x"],
    "min_reported_time": 1,
    "write_computation_times": False,  # that page would fetch scripts
    "show_memory": False,
    "show_signature": False,
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib", look),
    "capture_repr": (),
    "remove_config_comments": True,
    "download_all_examples": False,
}

html_theme = "pydata_sphinx_theme"
html_context = {"default_mode": "auto"}  # light or dark as the reader's system
html_title = f"separatrix {release}"
html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_extra_path = ["../src/separatrix/exploring/explorer.html"]  # the explorer, to the top of the site
html_css_files = ["separatrix.css"]
copybutton_exclude = ".linenos, .gp, .go"  # neither prompts nor what was printed
copybutton_selector = "div:not(.highlight-text):not(.no-copy) > div.highlight pre"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "logo": {"image_light": "_static/logo.svg", "image_dark": "_static/logo.svg", "text": "separatrix", "alt_text": ""},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "show_prev_next": True,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": [], "benchmarks": [], "peers": [], "data": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "use_edit_page_button": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {page: [] for page in ("index", "data", "reproduction/report", "beyond/report")}  # room for tables
