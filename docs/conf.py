"""Sphinx reads the Markdown in this folder: `make docs` builds it into build/docs."""

import tomllib
from pathlib import Path

with (Path(__file__).parents[1] / "pyproject.toml").open("rb") as file:
    release = tomllib.load(file)["project"]["version"]

project = "eks-gpushare"
author = "the authors of eks-gpushare"
project_copyright = f"2026, {author}. Apache License 2.0"
extensions = ["myst_parser", "sphinx_copybutton", "sphinx_design"]
# Tabs are written as fences of colons, which code blocks may stand in.
myst_enable_extensions = ["colon_fence"]
html_theme = "furo"
html_title = f"{project} {release}"
html_theme_options = {"sidebar_hide_name": False}
# Headings of three levels are link targets, as they are where the files are read as they stand.
myst_heading_anchors = 3
# The button copies what a reader types, not the prompt and not what was printed.
copybutton_exclude = ".linenos, .gp, .go"
html_static_path = ["_static"]
html_css_files = ["pictures.css"]
