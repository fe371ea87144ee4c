# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Somebody who owns guests and is no administrator: Nova refuses what a lock forbids to him only."""

from __future__ import annotations

import openstack

NAME = "owner"


def elsewhere(lab):
    """How to log in as a member of another project: Nova shows him none of the lab's guests."""
    identity, password = lab.cloud.identity, lab.info["password"]
    name, project = "elsewhere", identity.find_project("service")
    user = identity.find_user(name) or identity.create_user(name=name, password=password, domain_id="default")
    role = identity.find_role("member") or identity.create_role(name="member")
    identity.assign_project_role_to_user(project, user, role)
    return {
        "auth_url": lab.info["auth_url"],
        "username": name,
        "password": password,
        "project_name": project.name,
        "user_domain_id": "default",
        "project_domain_id": "default",
    }


class Owner:
    """A member of the project that the lab's guests are in."""

    def __init__(self, lab):
        identity, password = lab.cloud.identity, lab.info["password"]
        project = identity.find_project("admin")
        user = identity.find_user(NAME) or identity.create_user(name=NAME, password=password, domain_id="default")
        role = identity.find_role("member") or identity.create_role(name="member")
        identity.assign_project_role_to_user(project, user, role)
        self.cloud = openstack.connect(
            auth_url=lab.info["auth_url"],
            username=NAME,
            password=password,
            project_name="admin",
            user_domain_id="default",
            project_domain_id="default",
            region_name=lab.cloud.config.get_region_name(),
            interface="public",
            load_envvars=False,
            load_yaml_config=False,
        )

    def asks(self, uuid, action, argument=None):
        """Send a request; the HTTP status that Nova answers with. C(delete) is one, too."""
        return self.sends(uuid, action, argument)[0]

    def sends(self, uuid, action, argument=None):
        """The same, with the request's id."""
        if action == "delete":
            answer = self.cloud.compute.delete(f"/servers/{uuid}", microversion="2.90")
        else:
            body = {action: argument}
            answer = self.cloud.compute.post(f"/servers/{uuid}/action", json=body, microversion="2.90")
        return answer.status_code, answer.headers.get("x-openstack-request-id")
