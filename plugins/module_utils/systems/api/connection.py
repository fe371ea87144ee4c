# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options that reach a cloud and its databases, and the SDK connection that is made from them.

The connection options are those of the C(openstack.cloud) collection, so that one C(module_defaults) serves both;
clouds.yaml, C(OS_CLIENT_CONFIG_FILE) and C(OS_*) are the SDK's own business.
"""

from __future__ import annotations

import copy
import traceback
import typing as t

from ...model import urls
from ...model.errors import ApiError

try:
    import openstack
    from keystoneauth1 import exceptions as auth_exceptions
except ImportError:
    OPENSTACK_ERROR: t.Optional[str] = traceback.format_exc()
else:
    OPENSTACK_ERROR = None

ArgumentSpec = t.Dict[str, t.Dict[str, t.Any]]

#: As openstack_full_argument_spec() of openstack.cloud 2.5.
OPENSTACK_SPEC: ArgumentSpec = {
    "cloud": {"type": "raw"},
    "auth": {"type": "dict", "no_log": True},
    "auth_type": {"type": "str"},
    "region_name": {"type": "str"},
    "validate_certs": {"type": "bool", "aliases": ["verify"]},
    "ca_cert": {"type": "str", "aliases": ["cacert"]},
    "client_cert": {"type": "str", "aliases": ["cert"]},
    "client_key": {"type": "str", "no_log": True, "aliases": ["key"]},
    "wait": {"type": "bool", "default": True},
    "timeout": {"type": "int", "default": 180},
    "api_timeout": {"type": "int"},
    "interface": {
        "type": "str",
        "default": "public",
        "choices": ["admin", "internal", "public"],
        "aliases": ["endpoint_type"],
    },
    "sdk_log_path": {"type": "str"},
    "sdk_log_level": {"type": "str", "default": "INFO", "choices": ["INFO", "DEBUG"]},
}

DATABASE_SPEC: ArgumentSpec = {
    "nova_api_db_url": {"type": "str", "no_log": True},
    "nova_cell_db_urls": {"type": "dict", "no_log": True},
    "neutron_db_url": {"type": "str", "no_log": True},
    # One URL, or a dictionary of cells and URLs.
    "rabbit_urls": {"type": "raw", "no_log": True},
}

#: Documented in doc_fragments/ovn.py.
OVN_SPEC: ArgumentSpec = {
    "ovn_nb_connection": {"type": "str"},
    "ovn_sb_connection": {"type": "str"},
    # A path, not the key itself.
    "ovn_private_key": {"type": "path", "no_log": False},
    "ovn_certificate": {"type": "path"},
    "ovn_ca_cert": {"type": "path"},
}

#: Option of ours to keyword of the SDK. A cloud given as a dictionary allows none of them beside it.
_KEYWORDS = {
    "auth": "auth",
    "auth_type": "auth_type",
    "region_name": "region_name",
    "validate_certs": "verify",
    "ca_cert": "cacert",
    "client_cert": "cert",
    "client_key": "key",
    "api_timeout": "api_timeout",
}
_SECRETS = ("password", "application_credential_secret", "token", "access_token", "client_secret", "secret")


def openstack_spec(**more: t.Dict[str, t.Any]) -> ArgumentSpec:
    """Return the argument spec of a module that talks to the APIs, with its own options added."""
    return {**copy.deepcopy(OPENSTACK_SPEC), **more}


def database_spec(**more: t.Dict[str, t.Any]) -> ArgumentSpec:
    """Return the argument spec of a module that talks to the databases, with its own options added."""
    return {**copy.deepcopy(DATABASE_SPEC), **more}


def ovn_spec(**more: t.Dict[str, t.Any]) -> ArgumentSpec:
    """Return the same of a module that talks to OVN's databases, too."""
    return database_spec(**copy.deepcopy(OVN_SPEC), **more)


def connect(options: t.Mapping[str, t.Any]) -> t.Any:
    """Return an SDK connection, authenticated. Raises :class:`ApiError` without any secret in it."""
    if OPENSTACK_ERROR is not None:
        raise ApiError("the Python library openstacksdk is not installed")
    keywords = _keywords(options)
    if options.get("sdk_log_path"):
        debug = options.get("sdk_log_level") == "DEBUG"
        openstack.enable_logging(debug=debug, http_debug=debug, path=options["sdk_log_path"])
    try:
        connection = openstack.connect(app_name="stackguard.nova", **keywords)
        connection.authorize()
    except (openstack.exceptions.SDKException, auth_exceptions.ClientException) as error:
        raise ApiError(f"OpenStack: {hide(str(error), keywords)}") from None
    return connection


def _keywords(options: t.Mapping[str, t.Any]) -> t.Dict[str, t.Any]:
    cloud = options.get("cloud")
    given = {name: options[name] for name in _KEYWORDS if options.get(name) is not None}
    interface = options.get("interface") or "public"
    if isinstance(cloud, dict):
        if given or interface != "public":
            named = ", ".join(sorted([*given, *(["interface"] if interface != "public" else [])]))
            raise ApiError(
                f"cloud is a dictionary: set {named} in this dictionary, not as separate options",
                problem="cloud-dictionary-set",
            )
        return copy.deepcopy(cloud)
    return {"cloud": cloud, "interface": interface, **{_KEYWORDS[name]: value for name, value in given.items()}}


def hide(text: str, keywords: t.Mapping[str, t.Any]) -> str:
    """Return an error text without the secrets that the connection was made with."""
    auth = keywords.get("auth")
    for name, value in auth.items() if isinstance(auth, dict) else ():
        if name in _SECRETS and isinstance(value, str) and value:
            text = text.replace(value, urls.HIDDEN)
    return " ".join(urls.redact(text).split())
