#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: explain
short_description: Print the documentation page of a finding code, or what a line of a log means
version_added: 0.1.0
description:
  - Prints the documentation page of a finding code from C(docs/codes) of this collection, or lists all codes, one on
    each line.
  - Prints to which finding codes a line of a log or an API fault belongs, and what it means.
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
        V(restart-would-destroy). Without O(code) and O(text), the module lists all codes.
  text:
    type: str
    default: ""
    version_added: 0.2.0
    description:
      - One or more lines of a log of Nova, placement, neutron, libvirt, QEMU or Ceph, or the text of an API fault.
        Time, colours, identifiers and line breaks do not matter. A part of the message is enough.
      - The module prints what it means and to which codes it belongs, the most specific message first. It fails if
        C(docs/reference/log-words.md) has none of these messages.
      - Mutually exclusive with O(code). The module neither prints nor writes the text, since it may hold secrets.
seealso:
  - module: stackguard.nova.audit
"""

EXAMPLES = r"""
- name: Print the documentation page of a finding code
  stackguard.nova.explain:
    code: SG113

- name: Print what a line of a log means
  stackguard.nova.explain:
    text: "{{ log_line }}"

- name: List all codes, one on each line
  stackguard.nova.explain:

- name: Print the documentation page of a finding code, and register the page as a variable
  stackguard.nova.explain:
    code: "{{ finding.code }}"
  register: page
"""

RETURN = r"""
code:
  description: Finding code whose page was printed; V(null) if the module printed something else than a page.
  returned: success
  type: str
  sample: SG113
codes:
  description: Finding codes that O(code) or O(text) means, the most specific first.
  returned: success
  type: list
  elements: str
  sample: [SG106, SG131]
text:
  description: The printed text.
  returned: success
  type: str
  sample: "# SG113 restart-would-destroy"
"""
