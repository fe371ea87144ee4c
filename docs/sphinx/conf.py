# SPDX-License-Identifier: GPL-3.0-or-later
"""Sphinx configuration of `make docs`: offline, with a theme that Sphinx itself carries.

The pages are those of the collection as it ships, where they are: a link that works on the code host works here, and
one that leads nowhere is a warning, which fails the build.
"""

from __future__ import annotations

project = "stackguard.nova"
copyright = "stackguard.nova contributors"
extensions = ["myst_parser", "sphinx_antsibull_ext"]
root_doc = "index"
html_theme = "alabaster"
html_title = "stackguard.nova"
html_theme_options = {"page_width": "1100px", "sidebar_width": "260px"}
html_show_sourcelink = False
nitpicky = False
pygments_style = "ansible"
myst_heading_anchors = 3
