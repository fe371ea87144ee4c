# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options that lead to OVN's databases."""

from __future__ import annotations


class ModuleDocFragment:
    """Documentation of module_utils/systems/api/connection.py, OVN_SPEC."""

    DOCUMENTATION = r"""
options:
  ovn_nb_connection:
    type: str
    description:
      - Connection to OVN's northbound database, in the format of C(ovn_nb_connection) in neutron's C([ovn]) section,
        such as C(tcp:192.0.2.11:6641), C(ssl:192.0.2.11:6641) or C(unix:/run/ovn/ovnnb_db.sock). For a clustered
        database, list all members, separated by commas. The module connects to the leader of the cluster.
      - If a host has OVN agents, a rename in place and a rename by drain both require O(ovn_nb_connection). In a rename
        by drain, the run uses O(ovn_nb_connection) to verify the host's chassis.
    version_added: 0.2.0
  ovn_sb_connection:
    type: str
    description: Connection to OVN's southbound database, in the format of C(ovn_sb_connection) in neutron's C([ovn])
      section.
    version_added: 0.2.0
  ovn_private_key:
    type: path
    description: Path of the client certificate's private key on the Ansible controller, for C(ssl:) connections to
      OVN's databases.
    version_added: 0.2.0
  ovn_certificate:
    type: path
    description: Path of the client certificate on the Ansible controller, for C(ssl:) connections to OVN's databases.
    version_added: 0.2.0
  ovn_ca_cert:
    type: path
    description: Path of the CA certificates on the Ansible controller. The run verifies the certificates of OVN's
      databases with these CA certificates.
    version_added: 0.2.0
requirements:
  - ovsdbapp >= 2.0 (for O(ovn_nb_connection))
"""
