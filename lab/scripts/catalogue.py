# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run in the control environment: the service users, services and endpoints in keystone. Safe to run again."""

from __future__ import annotations

import os
import sys

import openstack

SERVICES = (
    ("placement", "placement", ":8778"),
    ("glance", "image", ":9292"),
    ("neutron", "network", ":9696"),
    ("nova", "compute", ":8774/v2.1"),
)
VOLUMES = ("cinder", "volumev3", ":8776/v3/%(project_id)s")


def main(controller: str, services: tuple[tuple[str, str, str], ...]) -> None:
    identity = openstack.connect().identity
    project = identity.find_project("service") or identity.create_project(name="service", domain_id="default")
    roles = [identity.find_role(name) or identity.create_role(name=name) for name in ("admin", "service")]
    for name, kind, suffix in services:
        user = identity.find_user(name) or identity.create_user(
            name=name, password=os.environ["SERVICE_PASSWORD"], default_project_id=project.id, domain_id="default"
        )
        for role in roles:
            identity.assign_project_role_to_user(project, user, role)
        service = next(iter(identity.services(type=kind)), None) or identity.create_service(name=name, type=kind)
        have = {endpoint.interface for endpoint in identity.endpoints(service_id=service.id)}
        for interface in {"public", "internal", "admin"} - have:
            identity.create_endpoint(
                service_id=service.id, interface=interface, url=f"http://{controller}{suffix}", region_id="RegionOne"
            )


if __name__ == "__main__":
    *options, address = sys.argv[1:]
    main(address, (*SERVICES, VOLUMES) if "--cinder" in options else SERVICES)
