# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run in the control environment: guests in bulk. Called by `lab/lab guests`; see --help there."""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import openstack

# new enough to ask for a host by name through the scheduler (2.74), old enough for every release of the lab
MICROVERSION = "2.90"
BUSY = ("BUILD", "DELETED")
# volumes that this command made, and deletes again
MADE_HERE = {"stackguard-lab": "guests"}


def call(cloud, method, path, body=None):
    answer = cloud.compute.request(path, method, json=body, microversion=MICROVERSION)
    openstack.exceptions.raise_from_response(answer)
    return answer.json() if answer.content else {}


def attached(server):
    return [volume["id"] for volume in server.get("os-extended-volumes:volumes_attached", [])]


def row(server):
    return {
        "name": server["name"],
        "id": server["id"],
        "host": server.get("OS-EXT-SRV-ATTR:host"),
        "zone": server.get("OS-EXT-AZ:availability_zone"),
        "status": server["status"],
        "task": server.get("OS-EXT-STS:task_state"),
        "fault": (server.get("fault") or {}).get("message", ""),
        "volumes": attached(server),
    }


def servers(cloud):
    found, marker = {}, ""
    while True:
        page = call(cloud, "GET", f"/servers/detail?all_tenants=1&limit=500{marker}")["servers"]
        found.update((server["id"], server) for server in page)
        if len(page) < 500:
            return found
        marker = f"&marker={page[-1]['id']}"


def flavor(cloud, name, swap, ephemeral):
    """The flavor asked for; one with swap or an ephemeral disk is made from it when first needed."""
    base = cloud.compute.find_flavor(name, ignore_missing=False)
    if not swap and not ephemeral:
        return base.id
    wanted = f"{name}-s{swap}-e{ephemeral}"
    made = cloud.compute.find_flavor(wanted) or cloud.compute.create_flavor(
        name=wanted, ram=base.ram, vcpus=base.vcpus, disk=base.disk, swap=swap, ephemeral=ephemeral
    )
    return made.id


def make_volume(cloud, name, kind, zone, image=None):
    """A volume of the type, in the guest's zone if it is one of Ceph's, which has a back end in each zone."""
    known = cloud.block_storage.find_type(kind, ignore_missing=False)
    in_zone = zone if known.extra_specs.get("volume_backend_name") == "ceph" else None
    more = {key: value for key, value in {"availability_zone": in_zone, "image_id": image}.items() if value}
    made = cloud.block_storage.create_volume(name=name, size=1, volume_type=kind, metadata=MADE_HERE, **more)
    return made.id


def make_volumes(cloud, args, names, image):
    """Each guest's volumes, the root volume first; a multi-attach volume is every guest's."""
    found = {name: [] for name in names}
    for name in names:
        if args.volume:
            found[name].append(make_volume(cloud, f"{name}-root", args.volume, args.zone, image))
        for number, kind in enumerate(args.data_volumes, 1):
            found[name].append(make_volume(cloud, f"{name}-data{number}", kind, args.zone))
    if args.multiattach:
        shared = make_volume(cloud, f"{args.name_prefix}s-shared", "multiattach", args.zone)
        for volumes in found.values():
            volumes.append(shared)
    for identity in {identity for volumes in found.values() for identity in volumes}:
        volume = cloud.block_storage.get_volume(identity)
        cloud.block_storage.wait_for_status(volume, "available", ["error"], interval=0.5, wait=args.timeout)
    return found


def block_devices(args, volumes, image):
    """What Nova is to make the guest's disks of; nothing where flavor and image say it all."""
    if not volumes:
        return {}
    devices = [
        {"uuid": identity, "source_type": "volume", "destination_type": "volume", "boot_index": None}
        for identity in volumes
    ]
    for device in devices:
        device["delete_on_termination"] = args.delete_on_termination
    if args.volume:
        devices[0]["boot_index"] = 0
    else:
        root = {"uuid": image, "source_type": "image", "destination_type": "local", "boot_index": 0}
        devices.insert(0, root | {"delete_on_termination": True})
    return {"block_device_mapping_v2": devices}


def create(cloud, args):
    image = cloud.image.find_image(args.image, ignore_missing=False).id
    network = cloud.network.find_network("net0", ignore_missing=False).id
    kind = flavor(cloud, args.flavor, args.swap, args.ephemeral)
    taken = {server["name"] for server in servers(cloud).values()}
    names, number = [], 0
    while len(names) < args.count:
        number += 1
        if f"{args.name_prefix}{number}" not in taken:
            names.append(f"{args.name_prefix}{number}")

    volumes = make_volumes(cloud, args, names, image)

    def boot(name):
        body = {"name": name, "flavorRef": kind, "networks": [{"uuid": network}]}
        body |= {} if args.volume else {"imageRef": image}
        body |= block_devices(args, volumes[name], image)
        if args.host:
            body["host"] = args.host
        if args.zone:
            body["availability_zone"] = args.zone
        return call(cloud, "POST", "/servers", {"server": body})["server"]["id"]

    def boot_in_turn(name):
        identity = boot(name)
        wait(cloud, [identity], args.timeout)
        return identity

    # Cinder reserves a multi-attach volume, too, for one guest at a time
    if args.multiattach:
        ids = [boot_in_turn(name) for name in names]
    else:
        with ThreadPoolExecutor(max_workers=4) as pool:
            ids = list(pool.map(boot, names))
    found = wait(cloud, ids, args.timeout)
    if args.stopped:
        for identity in ids:
            if found[identity]["status"] == "ACTIVE":
                call(cloud, "POST", f"/servers/{identity}/action", {"os-stop": None})
        found = wait(cloud, ids, args.timeout, goal="SHUTOFF")
    goal = "SHUTOFF" if args.stopped else "ACTIVE"
    show([found[i] for i in ids], args.json)
    return 0 if all(found[i]["status"] == goal for i in ids) else 1


def wait(cloud, ids, timeout, goal="ACTIVE"):
    end = time.monotonic() + timeout
    while True:
        found = servers(cloud)
        if all(i in found and found[i]["status"] in (goal, "ERROR") for i in ids) or time.monotonic() > end:
            return found
        time.sleep(0.5)


def volumes_made(cloud):
    """The volumes that this command made, by their ids; none in a lab without Cinder."""
    if not cloud.has_service("block-storage"):
        return {}
    listed = cloud.block_storage.volumes(details=True, all_projects=True)
    return {volume.id: volume for volume in listed if MADE_HERE.items() <= (volume.metadata or {}).items()}


def delete_volumes(cloud, wanted, end):
    """Deletes those that no guest has any more, and waits; how many are left."""
    asked = set()
    while True:
        left = {identity: volume for identity, volume in volumes_made(cloud).items() if identity in wanted}
        for identity, volume in left.items():
            if volume.status in ("available", "error") and identity not in asked:
                cloud.block_storage.delete_volume(identity)
                asked.add(identity)
        left = {i: volume for i, volume in left.items() if not volume.attachments}
        if not left or time.monotonic() > end:
            return len(left)
        time.sleep(0.5)


def delete(cloud, args):
    known = servers(cloud)
    gone = [i for i, server in known.items() if args.all or server["name"] in args.names or i in args.names]
    unknown = set(args.names) - set(gone) - {known[i]["name"] for i in gone}
    volumes = set(volumes_made(cloud))
    if not args.all:
        volumes &= {volume for identity in gone for volume in attached(known[identity])}
    for identity in gone:
        call(cloud, "DELETE", f"/servers/{identity}")
    end = time.monotonic() + args.timeout
    while set(gone) & set(servers(cloud)) and time.monotonic() < end:
        time.sleep(0.5)
    left = set(gone) & set(servers(cloud))
    volumes_left = delete_volumes(cloud, volumes, end) if volumes else 0
    print(f"{len(gone) - len(left)} deleted" + (f", {len(left)} still there" if left else ""))
    if volumes_left:
        print(f"{volumes_left} of their volumes still there", file=sys.stderr)
    for name in sorted(unknown):
        print(f"no such guest: {name}", file=sys.stderr)
    return 1 if left or unknown or volumes_left else 0


def show(found, as_json):
    rows = [row(server) for server in found]
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    for entry in rows:
        print(entry["name"], entry["id"], entry["host"] or "-", entry["status"], entry["fault"])


def parser():
    top = argparse.ArgumentParser(prog="lab guests")
    commands = top.add_subparsers(dest="command", required=True)
    made = commands.add_parser("create", help="boot N guests at once and wait until they are ACTIVE")
    made.add_argument("count", type=int, metavar="N")
    made.add_argument("--on", dest="host", metavar="HOST", help="on this host (its name in Nova)")
    made.add_argument("--zone", help="pinned to this availability zone")
    made.add_argument("--swap", type=int, default=0, metavar="MB")
    made.add_argument("--ephemeral", type=int, default=0, metavar="GB")
    made.add_argument("--flavor", default="nano")
    made.add_argument("--image", default="blank")
    made.add_argument(
        "--volume", nargs="?", const="ceph", metavar="TYPE", help="boot from a new volume of this type (ceph)"
    )
    made.add_argument(
        "--data-volume",
        nargs="?",
        const="ceph",
        action="append",
        default=[],
        dest="data_volumes",
        metavar="TYPE",
        help="with a new volume as a further disk; can be given again",
    )
    made.add_argument("--multiattach", action="store_true", help="with one new volume that all these guests have")
    made.add_argument(
        "--delete-on-termination", action="store_true", help="Nova deletes the volumes with the guest (default: not)"
    )
    made.add_argument("--name-prefix", default="guest")
    made.add_argument("--stopped", action="store_true", help="stop them after their boot")
    made.add_argument("--timeout", type=float, default=300)
    made.add_argument("--json", action="store_true")
    listed = commands.add_parser("list", help="all guests")
    listed.add_argument("--json", action="store_true")
    gone = commands.add_parser("delete", help="delete guests and wait until they are gone")
    gone.add_argument("names", nargs="*", metavar="NAME|ID")
    gone.add_argument("--all", action="store_true")
    gone.add_argument("--timeout", type=float, default=120)
    return top


def main():
    args = parser().parse_args()
    cloud = openstack.connect()
    if args.command == "create":
        return create(cloud, args)
    if args.command == "delete":
        return delete(cloud, args)
    show(sorted(servers(cloud).values(), key=lambda server: server["name"]), args.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
