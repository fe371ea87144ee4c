# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every playbook against a real cloud with the highest verbosity, and a secret of its own in everything that takes one.

They are looked for in what was printed, in reports, evidence and journals on the controller and the hosts, in what Nova
was told, and in the arguments of every process of the machine (the lab's hosts are on it). The same without a lab, and
through ansible-runner: tests/unit/awx/test_jobs.py.
"""

from __future__ import annotations

import pytest
from labkit import guests as guestkit
from labkit.canary import Canaries
from labkit.fixtures import as_new, documented_grants
from labkit.playbook import ROOT, RUNS

HOST, NAME, USER = "compute1", "cn-secret.example", "sg-canary"
#: On the hosts: journals, what Ansible and the modules left, what nova-compute logged.
PLACES = "/var/lib/stackguard /root/.ansible /tmp/ansible* /var/tmp/ansible* /var/log/nova"
LOUD = ("-vvvv", "--diff")


class Secrets:
    """The canaries of one lab, as variables and environment of a run."""

    def __init__(self, lab, canaries):
        self.lab = lab
        self.canaries = canaries
        self.environment = {"STACKGUARD_FENCE_PASSWORD": canaries["fence"]}
        self.variables = {"cloud": None, "auth": self.user(), **self.databases()}

    def user(self):
        """An administrator of its own, and how to log in as such."""
        identity = self.lab.cloud.identity
        old = identity.find_user(USER)
        if old is not None:
            identity.delete_user(old)
        project = identity.find_project("admin")
        user = identity.create_user(
            name=USER, password=self.canaries["cloud"], domain_id=project.domain_id, default_project_id=project.id
        )
        identity.assign_project_role_to_user(project, user, identity.find_role("admin"))
        auth_url = self.lab.cloud.config.get_auth_args()["auth_url"]
        return {
            "auth_url": auth_url,
            "username": USER,
            "password": self.canaries["cloud"],
            "project_name": project.name,
            "user_domain_id": project.domain_id,
            "project_domain_id": project.domain_id,
        }

    def databases(self):
        """A user of its own for each database, with the documented rights."""
        found = {}
        for kind in ("api", "cell1", "neutron"):
            user = f"sg_canary_{kind}"
            urls = guestkit.grant(self.lab, user, documented_grants())
            self.lab.sql("api", f"ALTER USER '{user}'@'%%' IDENTIFIED BY '{self.canaries[kind]}'" % ())
            quoted = self.canaries.url(kind)
            found[kind] = {
                key: {name: url.replace(guestkit.PASSWORD, quoted) for name, url in value.items()}
                if isinstance(value, dict)
                else value.replace(guestkit.PASSWORD, quoted)
                for key, value in urls.items()
            }
        return {
            "nova_api_db_url": found["api"]["nova_api_db_url"],
            "nova_cell_db_urls": found["cell1"]["nova_cell_db_urls"],
            "neutron_db_url": found["neutron"]["neutron_db_url"],
        }

    def forget(self):
        self.lab.cloud.identity.delete_user(self.lab.cloud.identity.find_user(USER))
        for kind in ("api", "cell1", "neutron"):
            self.lab.sql("api", f"DROP USER IF EXISTS 'sg_canary_{kind}'@'%%'" % ())

    def on_hosts(self):
        """Return (host, file) of everything on the hosts that holds one."""
        patterns = "\n".join(form for _kind, form in self.canaries.forms())
        return [
            (host, path)
            for host in self.lab.hosts
            for path in self.lab.ssh(
                host, f"grep -rlaF -f - {PLACES} 2>/dev/null", check=False, stdin=patterns
            ).splitlines()
        ]

    def in_nova(self):
        """Return what Nova was told that gives one away."""
        rows = self.lab.sql("cell1", "SELECT disabled_reason AS r FROM services WHERE disabled_reason IS NOT NULL")
        return [row["r"] for row in rows if self.canaries.found(row["r"])]

    def assert_kept(self, result):
        assert self.canaries.found(result.output) == []
        assert self.canaries.left(RUNS / f"i{self.lab.instance}", ROOT / "stackguard-reports") == []
        assert self.on_hosts() == []
        assert self.in_nova() == []
        assert self.canaries.argv == set()


@pytest.fixture(scope="module")
def secrets(lab):
    as_new(lab)
    made = Secrets(lab, Canaries())
    yield made
    made.forget()


@pytest.fixture
def run(playbooks, secrets):
    """Run a playbook with every secret, and look for them; returns its result."""

    def playbook(name, *words, check=True, **variables):
        with secrets.canaries.watched():
            result = playbooks.run(
                name,
                *words,
                variables={**secrets.variables, **variables},
                env=secrets.environment,
                flags=(*LOUD, "--check") if check else LOUD,
            )
        secrets.assert_kept(result)
        return result

    return playbook


def test_an_audit_tells_none(run):
    assert run("audit", audit_fail_on="never").ok().report["servers"] > 0


@pytest.mark.matrix("input")
def test_a_check_of_a_rename_tells_none(run):
    run("rename_host", f"rename_from={HOST}", f"rename_to={NAME}").ok()


@pytest.mark.matrix("input")
def test_a_rename_and_the_way_back_tell_none(run):
    run("rename_host", f"rename_from={HOST}", f"rename_to={NAME}", check=False).ok()
    run("rename_host", f"rename_from={NAME}", f"rename_to={HOST}", check=False).ok()


@pytest.mark.matrix("input")
def test_a_repair_tells_none(run):
    run("repair_links", check=False).ok()


@pytest.mark.matrix("input")
def test_a_resize_tells_none(run):
    run("resize_server", "resize_server=plain1", "resize_flavor=nosuchflavor").failed()


@pytest.mark.matrix("input")
def test_a_check_of_pins_tells_none(run):
    run("pin_servers", pin_servers=["plain1"])


@pytest.mark.matrix("input")
@pytest.mark.parametrize("check", [True, False])
def test_a_refused_evacuation_tells_none(run, secrets, check):
    """The host lives, so it is refused, before anything is fenced; the options of the power modules are read."""
    options = {"baseuri": "bmc.example", "username": "admin", "password": secrets.canaries["power"]}
    power = {"evacuate_power_options": options, "evacuate_power_state_options": options}
    run("evacuate_host", f"evacuate_host={HOST}", "evacuate_fence=power", check=check, **power).failed()


@pytest.mark.matrix("input")
def test_checks_of_moves_tell_none(run):
    run("migrate_server", migrate_servers=["plain1"])
    run("drain_host", f"drain_host={HOST}")


@pytest.mark.matrix("input")
def test_a_return_tells_none(run):
    run("return_host", f"return_host={HOST}")


def test_wrong_passwords_are_not_told_either(run, secrets):
    """What the cloud and the databases say of a password that they refuse."""
    refused = {**secrets.variables["auth"], "password": secrets.canaries["wrong-cloud"]}
    url = secrets.variables["nova_api_db_url"].replace(secrets.canaries.url("api"), secrets.canaries.url("wrong-api"))
    result = run("audit", audit_fail_on="never", auth=refused, nova_api_db_url=url).ok()
    assert "SG709" in result.codes


def test_what_is_looked_for_would_be_found(lab, secrets):
    """The search itself: a file on a host that holds a canary, and a process that is called with one."""
    lab.ssh(HOST, "cat > /var/log/nova/sg-canary", stdin=secrets.canaries["fence"])
    try:
        assert secrets.on_hosts() == [(HOST, "/var/log/nova/sg-canary")]
    finally:
        lab.ssh(HOST, "rm -f /var/log/nova/sg-canary")
    seen = Canaries()
    with seen.watched():
        lab.ssh(HOST, f"sh -c 'sleep 1' {seen['argument']!r}")
    assert {kind for kind, _line in seen.argv} == {"argument"}
