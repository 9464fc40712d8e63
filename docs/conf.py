"""Settings of Sphinx for the documentation; scripts/docs.sh builds it."""

import os
import pathlib
import sys
import types

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "compiler" / "python"))

project = "Smelt"
author = "The authors of Smelt"
extensions = ["myst_parser", "sphinx.ext.autodoc", "breathe"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "bench/results"]
html_theme = "furo"
html_title = "Smelt"
html_static_path = []
html_show_sphinx = False
html_extra_path = []

# Headings are targets of links; code without a language is shown as it is.
myst_heading_anchors = 4
highlight_language = "none"
suppress_warnings = ["myst.header"]  # generated pages may begin a section two levels down

# The package is documented without its compiled part and without the libraries that it imports.
autodoc_mock_imports = ["smelt._native", "torch", "sympy", "onnx"]
# Tables of the package ask for these types when they are imported.
sys.modules["ml_dtypes"] = ml_dtypes = types.ModuleType("ml_dtypes")
ml_dtypes.finfo = numpy.finfo
ml_dtypes.__getattr__ = lambda name: numpy.float32
autodoc_typehints = "signature"
autodoc_member_order = "bysource"

breathe_projects = {"smelt": os.environ.get("SMELT_DOXYGEN_XML", str(ROOT / "build" / "docs" / "doxygen" / "xml"))}
breathe_default_project = "smelt"


def setup(app):
    """Blocks of Smelt's text form, which tests read, are shown as they are."""
    from pygments.lexers.special import TextLexer

    app.add_lexer("smelt", TextLexer)
