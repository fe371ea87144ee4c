# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What makes an empty Nova a usable cloud, and waiting until its hosts have reported."""

from __future__ import annotations

import json
import time
import urllib.request

from . import cinder, control, ovn
from .procs import in_control
from .settings import SOURCE, Lab, LabError
from .shell import phase, say, wait_for

IMAGE_MB = 16


def make_objects(lab: Lab) -> None:
    """Zones, flavors, image and network."""
    image = lab.state / "blank.raw"
    with image.open("wb") as stream:
        stream.truncate(IMAGE_MB << 20)
    zones = [f"compute{n}={lab.zone_of(n)}" for n in lab.host_numbers]
    environment = {k: v for k, v in lab.client_env().items() if k.startswith("OS_")}
    in_control(
        lab,
        lab.control_venv / "bin" / "python",
        SOURCE / "scripts" / "cloud_objects.py",
        *(["--provider", str(lab.provider_network), "--outside", lab.outside] if lab.options.l2 == "ovn" else []),
        *(["--volumes", ",".join(cinder.types(lab))] if lab.has_cinder else []),
        image,
        *zones,
        env=environment,
        log=lab.log / "cloud-objects.log",
        timeout=900,
    )


def zones_complete(lab: Lab) -> bool:
    """Whether every host is in its zone, for Nova and for placement."""
    query = (
        "SELECT (SELECT COUNT(*) FROM nova_api.aggregate_hosts),"
        " (SELECT COUNT(*) FROM placement.resource_provider_aggregates)"
    )
    nova, placement = control.mysql(lab, "-N", "-e", query).split()
    return min(int(nova), int(placement)) >= len(lab.host_numbers)


def warm_up(lab: Lab) -> None:
    """A first request to neutron: until one has been served, listing its ports answers 500.

    (Port.port_forwardings exists only once SQLAlchemy has configured all models, which the first query does.)
    """
    user = {"name": "admin", "domain": {"id": "default"}, "password": lab.options.password}
    body = {
        "auth": {
            "identity": {"methods": ["password"], "password": {"user": user}},
            "scope": {"project": {"name": "admin", "domain": {"id": "default"}}},
        }
    }

    def asked() -> bool:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        headers = {"Content-Type": "application/json"}
        try:
            with opener.open(
                urllib.request.Request(f"{lab.auth_url}/auth/tokens", json.dumps(body).encode(), headers), timeout=60
            ) as answer:
                token = answer.headers["X-Subject-Token"]
            for path in (f"{control.PORTS['neutron']}/v2.0/networks", f"{control.PORTS['nova-api']}/v2.1/servers"):
                request = urllib.request.Request(f"http://{lab.controller}:{path}", headers={"X-Auth-Token": token})
                opener.open(request, timeout=60).close()
        except OSError:
            return False
        return True

    wait_for("answers of neutron and Nova", asked, timeout=300, log=lab.log / "neutron.log", pause=1)


def now(lab: Lab) -> str:
    return control.mysql(lab, "-N", "-e", "SELECT utc_timestamp()").strip()


def volume_reports(lab: Lab) -> dict[str, int]:
    """How often each of Cinder's back ends has reported; one whose driver has not started does not."""
    if not lab.has_cinder:
        return {}
    query = "SELECT host, report_count FROM services WHERE `binary`='cinder-volume' AND NOT deleted"
    lines = control.mysql(lab, "-N", "-e", query, database="cinder").splitlines()
    return {host: int(count) for host, count in (line.split("\t") for line in lines)}


def wait_volumes(lab: Lab, before: dict[str, int]) -> None:
    """Until each back end has reported once more."""
    names = [f"controller@{name}" for name in cinder.backends(lab)]
    if not names:
        return

    def all_reported() -> bool:
        now = volume_reports(lab)
        return all(now.get(name, 0) > before.get(name, 0) for name in names)

    with phase(f"{len(names)} back ends of Cinder"):
        wait_for("Cinder's back ends", all_reported, timeout=120, log=lab.log / "cinder-volume.log")


ENABLED = "SELECT COUNT(*) FROM services WHERE `binary`='nova-compute' AND deleted=0 AND disabled=0 AND forced_down=0"


def enabled(lab: Lab) -> int:
    """How many nova-computes are to run: not those that were disabled, by a test or by an operation cut short."""
    return _counted(lab, ENABLED)


def _counted(lab: Lab, query: str) -> int:
    """The sum of what each cell answers."""
    answers = (control.mysql(lab, "-N", "-e", query, database=f"nova_{cell}").strip() for cell in lab.cells)
    return sum(int(answer or 0) for answer in answers)


def reported(lab: Lab, since: str) -> int:
    """How many enabled nova-computes have reported since then."""
    query = f"{ENABLED} AND GREATEST(COALESCE(updated_at,0), created_at) >= '{since}'"
    return _counted(lab, query)


def agents_reported(lab: Lab, since: str) -> int:
    query = f"SELECT COUNT(*) FROM agents WHERE heartbeat_timestamp >= '{since}'"
    return int(control.mysql(lab, "-N", "-e", query, database="neutron").strip() or 0)


def agents_ready(lab: Lab, since: str, wanted: int) -> int:
    """How many hosts have a live L2 agent; where there are none, as many as are wanted."""
    if lab.options.l2 == "ovs":
        return agents_reported(lab, since)
    return ovn.chassis(lab) if lab.options.l2 == "ovn" else wanted


def wait_computes(lab: Lab, since: str, *, timeout: float = 300, strict: bool = True) -> None:
    """Waits for the hosts' nova-computes (and L2 agents).

    When the lab is started again, not for those that are disabled; and one that does not come is told, not fatal.
    """
    wanted = len(lab.host_numbers) if strict else min(len(lab.host_numbers), enabled(lab))
    end = time.monotonic() + timeout
    with phase(f"{wanted} nova-computes"):
        while True:
            have = reported(lab, since)
            agents = agents_ready(lab, since, wanted)
            if have >= wanted and agents >= wanted:
                return
            if time.monotonic() > end:
                break
            time.sleep(0.5)
    text = f"{have} of {wanted} nova-computes reported within {timeout:.0f} s ({agents} L2 agents)"
    if strict:
        raise LabError(text, hint="lab/lab ssh compute1 journalctl -n 50; nova-compute's log: README.md")
    say(f"note: {text}; look at: lab/lab status")
