"""How Sphinx builds the documentation: ``python -m sphinx -W docs out/docs``.

The reference is written anew at each build from the public names (``reference.py`` beside this
file) and what their docstrings say.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import reference

project = "Cellwire"
version = release = reference.version()
extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "myst_parser"]
html_theme = "furo"
html_title = f"Cellwire {version}"
exclude_patterns = ["images"]
default_role = "code"
autosummary_generate = False
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
myst_heading_anchors = 3
suppress_warnings = ["myst.xref_missing"]  # links to files of the project, for its web page

reference.write(Path(__file__).parent / "api")
