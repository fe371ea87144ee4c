# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connection options of modules that talk to the OpenStack APIs: those of openstack.cloud."""

from __future__ import annotations


class ModuleDocFragment:
    """Documentation of module_utils/systems/api/connection.py, OPENSTACK_SPEC."""

    DOCUMENTATION = r"""
options:
  cloud:
    type: raw
    description:
      - Name of a cloud in C(clouds.yaml), or a dictionary with the connection options of the cloud. If O(cloud) is a
        dictionary, put all connection options of the cloud into the dictionary. The module fails if O(cloud) is a
        dictionary, and you also set O(auth), O(auth_type), O(region_name), O(validate_certs), O(ca_cert),
        O(client_cert), O(client_key), O(api_timeout) or O(interface) outside the dictionary.
      - Without O(cloud), openstacksdk reads C(OS_CLOUD) and the other C(OS_*) environment variables.
  auth:
    type: dict
    description:
      - Parameters of the authentication plugin. To authenticate with a password, set C(auth_url), C(username),
        C(password), C(project_name), C(user_domain_name) and C(project_domain_name).
  auth_type:
    type: str
    description: Name of the authentication plugin.
  region_name:
    type: str
    description: Name of the region.
  validate_certs:
    type: bool
    aliases: [verify]
    description: Whether to verify the certificates of API servers.
  ca_cert:
    type: str
    aliases: [cacert]
    description: Path of a file with CA certificates. openstacksdk verifies the certificates of API servers with these
      CA certificates.
  client_cert:
    type: str
    aliases: [cert]
    description: Path of a client certificate.
  client_key:
    type: str
    aliases: [key]
    description: Path of the client certificate's key.
  wait:
    type: bool
    default: true
    description:
      - The option O(wait) has no effect. The module accepts O(wait) so that you can use the same defaults for this
        module and for the modules of C(openstack.cloud).
      - If you set O(wait) in the arguments of a task and not in C(module_defaults), the module prints a warning that
        O(wait) has no effect.
  timeout:
    type: int
    default: 180
    description:
      - The option O(timeout) has no effect. The module accepts O(timeout) so that you can use the same defaults for
        this module and for the modules of C(openstack.cloud).
      - If you set O(timeout) in the arguments of a task and not in C(module_defaults), the module prints a warning that
        O(timeout) has no effect.
  api_timeout:
    type: int
    description: Maximum number of seconds to wait for the answer to one API request. Without O(api_timeout), the
      default time limit of openstacksdk applies.
  interface:
    type: str
    choices: [admin, internal, public]
    default: public
    aliases: [endpoint_type]
    description: Interface of the API endpoints. The module connects to the endpoints that the service catalogue
      contains for this interface.
  sdk_log_path:
    type: str
    description: File for the log of openstacksdk. Without O(sdk_log_path), openstacksdk writes no log.
  sdk_log_level:
    type: str
    default: INFO
    choices: [INFO, DEBUG]
    description: With V(DEBUG), openstacksdk also logs API requests and answers.
requirements:
  - openstacksdk >= 4.0
notes:
  - openstacksdk looks for clouds in C(clouds.yaml) of the current directory, of C(~/.config/openstack) and of
    C(/etc/openstack), or in the file that C(OS_CLIENT_CONFIG_FILE) points to.
  - With Nova's default policy the module needs the credentials of an administrator.
"""
