"""Sphinx reads the Markdown in this folder: `make docs` builds it into build/docs."""

project = "eks-gpushare"
author = "the authors of eks-gpushare"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "eks-gpushare"
# Headings of three levels are link targets, as they are where the files are read as they stand.
myst_heading_anchors = 3
