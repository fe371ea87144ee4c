# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run in the control environment: zones, flavors, image and network of the lab. Safe to run again.

Usage: cloud_objects.py [--provider CIDR --outside ADDRESS] [--volumes TYPE,...] IMAGE_FILE HOST=ZONE...

With a provider network (OVN) guests have a tenant network, and a router of its own leads to the outside.
"""

from __future__ import annotations

import argparse
import sys
import time

import openstack

FLAVORS = (
    ("nano", 64, {}),
    ("micro", 128, {}),
    ("big", 4096, {}),
    ("locked", 64, {"hw:locked_memory": "true", "hw:mem_page_size": "any"}),
    ("huge", 64, {"hw:mem_page_size": "large"}),
)
FLAT = {"provider_network_type": "flat", "provider_physical_network": "physnet1"}
OF_CEPH = {"ceph": {}, "multiattach": {"multiattach": "<is> True"}, "luks": {}}
LUKS = {"provider": "luks", "cipher": "aes-xts-plain64", "key_size": 256, "control_location": "front-end"}
UNLIMITED = ("volumes", "gigabytes", "snapshots")
PLACEMENT = {"endpoint_filter": {"service_type": "placement"}, "headers": {"OpenStack-API-Version": "placement 1.30"}}


def wait_for_hosts(cloud, wanted):
    """Until Nova has mapped every host and placement knows it: before that it cannot join an aggregate."""
    hypervisors = set()
    for _ in range(900):
        try:
            hypervisors = {hypervisor.name for hypervisor in cloud.compute.hypervisors(details=True)}
        except openstack.exceptions.HttpException as error:
            # It asks the hosts for their uptime, and a host that is just starting does not always answer.
            print("retrying:", str(error)[-200:], flush=True)
        if wanted <= hypervisors and wanted <= set(providers(cloud)):
            return
        time.sleep(0.5)
    sys.exit(f"not all hosts came up: wanted {sorted(wanted)}, have {sorted(hypervisors)}")


def providers(cloud):
    answer = cloud.session.get("/resource_providers", **PLACEMENT).json()
    return {provider["name"]: provider["uuid"] for provider in answer["resource_providers"]}


def in_placement(cloud, provider, aggregate):
    answer = cloud.session.get(f"/resource_providers/{provider}/aggregates", **PLACEMENT).json()
    return aggregate.uuid in answer["aggregates"]


def join(cloud, aggregate, host, provider):
    """An addition may fail half way and leave the host in Nova's aggregate but not in placement's: look at both."""
    for _ in range(40):
        listed = host in (cloud.compute.get_aggregate(aggregate.id).hosts or [])
        if listed and in_placement(cloud, provider, aggregate):
            return
        try:
            if listed:
                cloud.compute.remove_host_from_aggregate(aggregate, host)
            cloud.compute.add_host_to_aggregate(aggregate, host)
        except openstack.exceptions.HttpException as error:
            print("retrying:", host, str(error)[-200:], flush=True)
            time.sleep(0.5)
    sys.exit(f"{host} could not be added to {aggregate.name}")


def make_zones(cloud, zones):
    known = {aggregate.name: aggregate for aggregate in cloud.compute.aggregates()}
    for zone in sorted(set(zones.values()) - set(known)):
        known[zone] = cloud.compute.create_aggregate(name=zone, availability_zone=zone)
    names = providers(cloud)
    for host, zone in zones.items():
        join(cloud, cloud.compute.get_aggregate(known[zone].id), host, names[host])


def make_flavors(cloud):
    for name, memory, extra in FLAVORS:
        flavor = cloud.compute.find_flavor(name) or cloud.compute.create_flavor(name=name, ram=memory, vcpus=1, disk=1)
        if extra:
            cloud.compute.create_flavor_extra_specs(flavor, extra)


def make_image(cloud, name, path, **properties):
    for image in cloud.image.images(name=name):
        if image.status == "active":
            return
        cloud.image.delete_image(image)
    common = {"disk_format": "raw", "container_format": "bare", "visibility": "public"}
    cloud.create_image(name, filename=path, wait=True, **common, **properties)


def make_volume_types(cloud, names):
    """A type is called by the back end it is on; `multiattach` and `luks` are on Ceph's."""
    volumes = cloud.block_storage
    for name in names:
        on_ceph = name in OF_CEPH
        wanted = {"volume_backend_name": "ceph" if on_ceph else name, **OF_CEPH.get(name, {})}
        made = volumes.find_type(name) or volumes.create_type(name=name, is_public=True)
        volumes.update_type_extra_specs(made, **wanted)
        if name == "luks" and not volumes.get_type_encryption(made).provider:
            volumes.create_type_encryption(made, **LUKS)
    project = cloud.current_project_id
    volumes.put(f"/os-quota-sets/{project}", json={"quota_set": dict.fromkeys(UNLIMITED, -1)})


def make_network(cloud, name, subnet, cidr, *, kind, **more):
    network = cloud.network.find_network(name) or cloud.network.create_network(name=name, **kind)
    return network, cloud.network.find_subnet(subnet) or cloud.network.create_subnet(
        name=subnet, network_id=network.id, ip_version=4, cidr=cidr, **more
    )


def wait_for_chassis(cloud, wanted):
    """Until neutron knows each host's chassis: a router's gateway is placed on those that are there."""
    alive = set()
    for _ in range(600):
        agents = cloud.network.agents()
        alive = {agent.host for agent in agents if agent.is_alive and agent.agent_type.startswith("OVN Controller")}
        if wanted <= alive:
            return
        time.sleep(0.5)
    sys.exit(f"not every host has a live chassis: wanted {sorted(wanted)}, have {sorted(alive)}")


def make_router(cloud, inner, provider, outside):
    """A provider network that begins outside, and a router whose gateway is on a chassis."""
    public, _subnet = make_network(
        cloud,
        "public",
        "public0",
        provider,
        kind=FLAT | {"is_router_external": True},
        enable_dhcp=False,
        gateway_ip=outside,
    )
    router = cloud.network.find_router("router0") or cloud.network.create_router(
        name="router0", external_gateway_info={"network_id": public.id}
    )
    if not list(cloud.network.ports(device_id=router.id, device_owner="network:router_interface")):
        cloud.network.add_interface_to_router(router, subnet_id=inner.id)


def let_in(cloud):
    """The guests' security group lets in what tests send, from the outside, too.

    By protocol: a rule for all of IPv4 would have the same flows as the rule for the group's own members, and
    OVN 23.03 writes such flows again whenever anything of the chassis changes.
    """
    group = next(iter(cloud.network.security_groups(name="default", project_id=cloud.current_project_id)))
    rules = cloud.network.security_group_rules(security_group_id=group.id, direction="ingress", ethertype="IPv4")
    have = {rule.protocol for rule in rules}
    for protocol in {"icmp", "tcp", "udp"} - have:
        cloud.network.create_security_group_rule(
            security_group_id=group.id, direction="ingress", ethertype="IPv4", protocol=protocol
        )


def arguments():
    top = argparse.ArgumentParser()
    top.add_argument("--volumes", type=lambda text: text.split(","), metavar="TYPE,...")
    top.add_argument("--provider", metavar="CIDR")
    top.add_argument("--outside", metavar="ADDRESS")
    top.add_argument("image")
    top.add_argument("pairs", nargs="+", metavar="HOST=ZONE")
    return top.parse_args()


def main():
    args = arguments()
    zones = dict(pair.split("=", 1) for pair in args.pairs)
    cloud = openstack.connect()
    make_flavors(cloud)
    make_image(cloud, "blank", args.image)
    if args.volumes:
        # a guest without an operating system gives a disk back while it runs only if its bus is SCSI
        make_image(cloud, "scsi", args.image, hw_disk_bus="scsi", hw_scsi_model="virtio-scsi")
        make_volume_types(cloud, args.volumes)
    tenant = {"shared": True}
    kind = tenant if args.provider else FLAT | tenant
    _network, inner = make_network(cloud, "net0", "sub0", "192.168.76.0/22", kind=kind, enable_dhcp=bool(args.provider))
    if args.provider:
        let_in(cloud)
        wait_for_chassis(cloud, set(zones))
        make_router(cloud, inner, args.provider, args.outside)
    wait_for_hosts(cloud, set(zones))
    make_zones(cloud, zones)


if __name__ == "__main__":
    main()
