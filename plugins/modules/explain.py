#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: explain
short_description: Print the documentation page of a finding code
version_added: 0.1.0
description:
  - Prints the documentation page of a finding code from C(docs/codes) of this collection, or lists all codes, one on
    each line.
  - Connects to no system and writes no file. Runs on the Ansible controller.
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.info_module
  - stackguard.nova.attributes.action
options:
  code:
    type: str
    default: ""
    description:
      - Code or name of the finding. Examples of codes are V(SG113), V(sg113) and V(113). An example of a name is
        V(restart-would-destroy). Without a code, the module lists all codes.
seealso:
  - module: stackguard.nova.audit
"""

EXAMPLES = r"""
- name: Print the documentation page of a finding code
  stackguard.nova.explain:
    code: SG113

- name: List all codes, one on each line
  stackguard.nova.explain:

- name: Print the documentation page of a finding code, and register the page as a variable
  stackguard.nova.explain:
    code: "{{ finding.code }}"
  register: page
"""

RETURN = r"""
code:
  description: Finding code whose page was printed; V(null) if the module printed the list of all codes.
  returned: success
  type: str
  sample: SG113
text:
  description: The printed text.
  returned: success
  type: str
  sample: "# SG113 restart-would-destroy"
"""
