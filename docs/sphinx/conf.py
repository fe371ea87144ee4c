# SPDX-License-Identifier: GPL-3.0-or-later
"""Sphinx configuration of `make docs`: offline, with a theme that Sphinx itself carries."""

from __future__ import annotations

project = "stackguard.nova"
copyright = "stackguard.nova contributors"
extensions = ["sphinx_antsibull_ext"]
html_theme = "alabaster"
html_title = "stackguard.nova"
nitpicky = False
pygments_style = "ansible"
