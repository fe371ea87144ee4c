#!/usr/bin/python
# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: compute_host_info
short_description: Read all facts of one compute host in one call
version_added: 0.1.0
description:
  - Reads the facts of a compute host. The facts include the host's names, addresses and C(compute_id) files, the
    effective C(nova.conf), the host name and version of libvirt, and every domain. The facts also include real memory
    and huge pages, systemd units, and unfinished operations.
  - The module reads every part of the facts separately. If the module cannot read a part, the value of the part is
    V(null) (never an empty list), and C(unread) contains the reason.
  - With O(evidence_dir) the module writes the facts into a file on the Ansible controller, and returns only a summary.
    Ansible therefore does not keep the facts of many hosts in variables.
  - If a host does not answer, or the module fails on a host, the module records the failure in O(evidence_dir) instead
    of the facts. Ansible still reports the task as unreachable or failed.
  - Because configuration files contain passwords, RV(host) contains only selected options and lines of configuration
    files. For these options and lines, see the descriptions of the keys of RV(host).
author:
  - stackguard.nova contributors (@stackguard)
extends_documentation_fragment:
  - stackguard.nova.attributes
  - stackguard.nova.attributes.info_module
  - stackguard.nova.attributes.action
requirements:
  - Python 3.9 or newer on the compute host
  - C(python3-libvirt) on the compute host, to read the facts of libvirt and of the domains
  - C(python3-rbd), or the commands C(rbd) and C(ceph), on the compute host or in the container of nova-compute, for
    O(rbd)
options:
  evidence_dir:
    type: path
    description:
      - Directory on the Ansible controller for C(hosts/NAME.json). The module creates O(evidence_dir), and only the
        owner of O(evidence_dir) can read the files. Without O(evidence_dir), the module returns the facts under
        RV(host).
  inventory_name:
    type: str
    description:
      - Name of the host in the evidence. The default is C(inventory_hostname).
  nova_conf_files:
    type: list
    elements: str
    default: []
    description:
      - Configuration files of nova-compute, in the order in which nova-compute reads them. By default the module takes
        the paths from the command line of nova-compute. If nova-compute does not run, the module takes the command line
        from the systemd unit. Without C(--config-file) on the command line, the module reads the default files of
        oslo.config. Without C(--config-dir), the module reads the default directories of oslo.config. If kolla runs
        nova-compute in a container, the module reads only C(/etc/kolla/nova-compute/nova.conf).
  nova_config_dirs:
    type: list
    elements: str
    default: []
    description:
      - Configuration directories of nova-compute. The module reads the files in O(nova_config_dirs) after
        O(nova_conf_files).
  libvirt_uri:
    type: str
    default: qemu:///system
    description:
      - libvirt URI. The connection is read-only. See also O(firmware).
  resolve_names:
    type: list
    elements: str
    default: []
    description:
      - Names that the module resolves on this host, in addition to the names of the host.
  state_dir:
    type: path
    default: /var/lib/stackguard
    description:
      - Directory that contains the journals of operations. The directory is on the host.
  compute_units:
    type: list
    elements: str
    default: [nova-compute, openstack-nova-compute, devstack@n-cpu]
    description:
      - Possible names of nova-compute's systemd unit. The module also reads the systemd units of the containers that a
        known deployment tool created.
  agent_units:
    type: list
    elements: str
    default:
      - neutron-openvswitch-agent
      - neutron-linuxbridge-agent
      - neutron-sriov-nic-agent
      - neutron-macvtap-agent
      - neutron-ovn-metadata-agent
      - neutron-ovn-agent
      - neutron-dhcp-agent
      - neutron-l3-agent
      - neutron-metadata-agent
      - devstack@q-agt
      - devstack@q-ovn-agent
    description:
      - Possible names of the systemd units of network agents.
  rbd:
    type: bool
    default: false
    description:
      - Whether to read the disk images in Ceph. The module uses the pool and the Ceph configuration that are set in
        this host's nova.conf. The module uses C(python3-rbd), or the commands C(rbd) and C(ceph) if C(python3-rbd) is
        missing.
  rbd_instances:
    type: list
    elements: str
    default: []
    description:
      - Uuids of the servers whose disk images the module reads. The module also reads the watchers and locks of the
        images. If O(rbd_instances) is empty, the module reads all images of the pool. If O(rbd_instances) is empty and
        C(python3-rbd) is missing, the module does not read watchers and locks.
  rbd_blocklist:
    type: bool
    default: false
    description:
      - Whether to read the OSD blocklist of the Ceph cluster.
  rbd_open:
    type: bool
    default: true
    description:
      - Whether to open the disk images in Ceph. With O(rbd_open=false) the module only lists the names of all images,
        with one call for the whole pool. Use O(rbd_open=false) if another host with the same cluster and pool opens the
        images.
  rbd_details:
    type: bool
    default: false
    description:
      - Whether to read all facts that are necessary to fence a host with the OSD blocklist. These facts are the
        addresses of Ceph's daemons, the user's permissions to add and remove blocklist entries, and the word that the
        commands of the Ceph release use (C(blocklist) or C(blacklist)). The module tests these permissions, but does
        not change the blocklist.
  rbd_write:
    type: bool
    default: false
    description:
      - Whether to write to Ceph. The module writes an object of a few bytes into the pool of the disk images, reads the
        object back, and removes the object. The module uses the Ceph user that is set in nova.conf, because QEMU opens
        the disks as this user. The module does not touch any image. With O(rbd_write=true) the command C(rados) is also
        necessary if C(python3-rbd) is missing. In check mode, the module does not write.
      - If the write fails, C(written) in RV(host.rbd) is V(null), and C(unread) in RV(host.rbd) contains the reason.
  rbd_volumes:
    type: list
    elements: str
    default: []
    description:
      - Uuids of volumes. For each volume, the module reads the Ceph image, and the watchers and locks of the image.
      - With V([all]), the module reads all volumes in O(rbd_volume_pools).
  rbd_volume_pools:
    type: list
    elements: str
    default: []
    description:
      - Ceph pools in which the module searches for O(rbd_volumes). The module searches only the Ceph cluster that the
        compute host uses. If the Ceph user has no permission to read a pool, C(unread) lists this pool.
      - If the compute host has no disk images in Ceph, the module reads Ceph only if O(rbd_volume_pools) is set.
  rbd_user:
    type: str
    description:
      - Name of the Ceph user without the prefix C(client.). The default is the Ceph user in nova.conf.
  rbd_conf:
    type: path
    description:
      - Path of the Ceph configuration file on the host. With O(ceph_command), enter the path of the file in the
        container. The default is the file that is set in nova.conf. If nova-compute runs in a container, nova.conf
        contains the path that the file has in the container. Without O(ceph_command), the module converts the path in
        nova.conf to the path of the same file on the host.
  ceph_command:
    type: list
    elements: str
    default: []
    description:
      - Prefix for the commands C(rbd) and C(ceph) if these commands run in a container, for example C([docker, exec,
        nova_compute]). With O(ceph_command) the module uses the commands C(rbd) and C(ceph) even if C(python3-rbd) is
        installed.
  definitions:
    type: bool
    default: false
    description:
      - Whether to read the definitions of all guests. For each guest, the module reads the definition of the running
        guest, and the definition for the guest's next start. With O(evidence_dir) the module saves each XML on the
        Ansible controller as C(definitions/SHA256.xml). The saved XML is normalised and contains no secrets. Without
        O(evidence_dir) the module returns the XML under RV(definitions).
  name_users:
    type: bool
    default: false
    description:
      - Whether to search for places that can contain the host's name, but that a rename does not change. The module
        looks for services such as Ceph, RabbitMQ, Galera, Pacemaker and Cinder on the host, and reads the options of
        nova-compute, the data of cloud-init, and the certificates of libvirt, QEMU and nova-compute. The module returns
        the names of options, but not their values. From each certificate file, the module returns only the first
        certificate.
  firmware:
    type: bool
    default: false
    description:
      - Whether to read the list of UEFI firmware that libvirt can use. libvirt shows this list only on a connection
        with write access. The module opens such a connection for this list, and changes nothing.
seealso:
  - module: stackguard.nova.audit
  - module: stackguard.nova.compute_host_rename
"""

EXAMPLES = r"""
- name: Save the facts of all compute hosts in an evidence directory
  stackguard.nova.compute_host_info:
    evidence_dir: /run/stackguard-evidence

- name: Read one host
  stackguard.nova.compute_host_info:
    resolve_names: [compute1, cn-rack7.example]
  register: answer

- name: Show the host name that libvirt reports to Nova
  ansible.builtin.debug:
    var: answer.host.libvirt.hostname
"""

RETURN = r"""
host:
  description:
    - All facts of the host. The keys of RV(host) are the names that Nova and libvirt use for these facts.
    - The facts are the kernel's host name, the static host name, the canonical host name, addresses, machine-id, DMI
      uuid, C(compute_id_files), C(nova_conf), C(libvirt), C(domains), C(memory), C(hugepages), C(units),
      C(resolutions), C(etc_hosts), C(ovs_external_ids), C(open_operations), C(unknown_journals), C(nova_version),
      C(neutron_host), C(name_spaces), C(deployment), C(guests_on_boot), C(instances_path), C(offers), C(guest_cpus),
      C(kernel_release), C(cpus),
      and C(unread). C(rbd) and C(name_users) are V(null) if you do not set the options O(rbd) and O(name_users).
  returned: when O(evidence_dir) is not given
  type: dict
  contains:
    inventory_name:
      description: Name of the host in the evidence.
      type: str
    read_at:
      description: Time at which the module read the facts, according to the clock of the host.
      type: str
    kernel_hostname:
      description: The kernel's host name.
      type: str
    static_hostname:
      description: The name in C(/etc/hostname).
      type: str
    fqdn:
      description: The canonical name.
      type: str
    addresses:
      description: Addresses of the host's interfaces, without loopback addresses.
      type: list
      elements: str
    machine_id:
      description: The C(machine-id).
      type: str
    dmi_uuid:
      description: Uuid in the firmware of the machine. The value is empty if the firmware has no uuid.
      type: str
    compute_id_files:
      description: Every C(compute_id) file, each with C(path), C(read_by_nova), C(exists), C(uuid), C(owner), C(group),
        C(mode), C(error), C(os_error) and C(unread).
      type: list
      elements: dict
    nova_conf:
      description: Selected settings of nova-compute, with the keys C(files), C(host), C(state_path), C(my_ip),
        C(instances_path), C(compute_driver), C(images_type), C(images_rbd_pool), C(rbd_user), C(images_rbd_ceph_conf),
        C(live_migration_inbound_addr), C(reserved_host_memory_mb), C(host_lines), C(log_file),
        C(running_deleted_instance_action), C(live_migration_uri), C(live_migration_scheme), C(virt_type),
        C(running_deleted_instance_timeout), C(resume_guests_state_on_host_boot), C(sync_power_state_interval),
        C(environment), C(update_resources_interval) and C(rbd_secret_uuid).
      type: dict
    libvirt:
      description: What libvirt reports about itself, with the keys C(uri), C(version), C(hostname) and C(host_uuid).
      type: dict
    domains:
      description: Every domain, each with C(uuid), C(name), C(state), C(persistent), C(pid), C(pid_start),
        C(memory_mib), C(vcpus), C(nova_name), C(nova_flavor), C(nova_project), C(machine_type), C(disks),
        C(interfaces), C(xml_digest), C(rss_mib), C(hugepage_kib), C(managed_save), C(autostart), C(snapshots) and
        C(ties). C(ties) shows what the domain needs of any host, with the keys C(arch), C(virt), C(cpu), C(firmware),
        C(ceph) and C(devices).
      type: list
      elements: dict
    memory:
      description: Real memory in MiB, with the keys C(total_mib) and C(available_mib).
      type: dict
    hugepages:
      description: Huge pages by size and NUMA node, each with C(size_kib), C(total), C(free), C(numa_node) and
        C(reserved).
      type: list
      elements: dict
    units:
      description: Systemd units of nova-compute, of the network agents and of libvirt-guests, each with C(name),
        C(load_state), C(active_state), C(sub_state), C(unit_file_state), C(fragment_path) and C(blocked).
      type: list
      elements: dict
    resolutions:
      description: Results of name resolution on this host, each with C(name), C(addresses), C(canonical) and C(error).
      type: list
      elements: dict
    etc_hosts:
      description: Lines of C(/etc/hosts), each with C(number), C(address), C(names) and C(text).
      type: list
      elements: dict
    ovs_external_ids:
      description: The C(external_ids) of Open vSwitch, with the name of each entry as the key.
      type: dict
    open_operations:
      description: Unfinished operations whose journal is on this host, each with C(operation_id), C(kind), C(state),
        C(started_at) and C(subject).
      type: list
      elements: dict
    unknown_journals:
      description: Journals on this host that this version of the collection does not understand, each with C(path),
        C(reason), C(finish_with), C(kind), C(operation_id), C(schema), C(version) and C(host).
      type: list
      elements: dict
    nova_version:
      description: Version of the nova package.
      type: str
    neutron_host:
      description: The host name in the network agent's configuration.
      type: str
    neutron_host_lines:
      description: The lines that set the host name in the configuration of the network agent, each with C(path),
        C(number) and C(text).
      type: list
      elements: dict
    rbd:
      description: With O(rbd=true), the facts that this host reads from Ceph, with the keys C(via), C(fsid), C(pool),
        C(instances), C(images), C(blocklist), C(unread), C(client_address), C(opened), C(infrastructure),
        C(blocklist_word), C(rights), C(nova_rights), C(volumes) and C(written).
      type: dict
    unread:
      description: The parts of the facts that the module could not read.
      type: list
      elements: dict
      contains:
        part:
          description: Name of the part of the facts, such as C(ovs_external_ids).
          type: str
        reason:
          description: Reason why the module could not read this part of the facts.
          type: str
        cause:
          description: Key of the cause if the module left out the part on purpose, for example C(not-asked-for);
            V(null) if the module failed to read the part.
          type: str
    definitions:
      description: With O(definitions=true), the definitions of the guests, each with C(uuid), C(name), C(read_at),
        C(live) and C(inactive).
      type: list
      elements: dict
    qemu_processes:
      description: Process ids of the QEMU processes that run on this host, with the uuid of the domain as the key.
      type: dict
    boot_id:
      description: Id of the current boot, as the kernel reports it.
      type: str
    name_spaces:
      description: Host names that nova-compute, libvirt and the network agents use. C(service) is one of these
        services. C(what) is the process, container or systemd unit of the service, or C(not running). C(own) shows
        whether the service has its own UTS namespace, and C(hostname) is the host name in this namespace. C(reason) is
        the reason why the host name is not known.
      type: list
      elements: dict
    name_users:
      description: With O(name_users=true), the places in which the host's current name can remain after a rename. The
        keys are C(residents) (services such as ceph-osd or rabbitmq on the host), C(options) (options of nova-compute),
        C(cloud_init), C(certificates) and C(unread) (places that the module could not read, and the reasons).
      type: dict
    ovs_version:
      description: Version of Open vSwitch, if it is installed.
      type: str
    rehearsal:
      description: Result of a test that predicts which name libvirt will use after a rename.
        M(stackguard.nova.compute_host_info) always returns V(null). M(stackguard.nova.compute_host_rename) tests the
        new host name on the host, and saves the result in the evidence of the rename. C(name) is the tested host name,
        and C(hostname) is the predicted name. C(reason) is the reason why the name could not be tested.
        C(unresolved) is the reason why the name could not be resolved. C(now) is the result of the same test with the
        current host name. C(undecided) lists the reasons why the prediction in C(hostname) might be wrong.
      type: dict
    deployment:
      description: How nova-compute, libvirt and the network agents are deployed, with the keys C(processes), C(guests),
        C(units), C(signs), C(folders), C(pending), C(pending_unread) and C(immutable).
      type: dict
    guests_on_boot:
      description: What libvirt-guests does at boot with the guests that ran at the last shutdown (its setting
        C(ON_BOOT)).
      type: str
    instances_path:
      description: Directories of instances without a domain on this host, with the keys C(path), C(filesystem),
        C(local) (whether no other host can have the file system mounted) and C(left). If other hosts can have it, and
        O(rbd_instances) is not empty, also C(users) (when each nova-compute last signed in C(compute_nodes)),
        C(exported) and C(disks) (files of these instances, with their inodes and formats).
      type: dict
    offers:
      description: What libvirt on this host can run, with the keys C(hypervisor) (the version of QEMU), C(machines)
        (the machine types by architecture), C(cpu) (the host's CPU as XML), C(firmware) (paths of UEFI firmware, with
        O(firmware=true)) and C(secrets) (uuids of libvirt's secrets, without their values).
      type: dict
    guest_cpus:
      description: The CPUs of the guests as XML, with the SHA-256 of the XML as the key. C(ties) of each domain
        contains this SHA-256.
      type: dict
    kernel_release:
      description: The release of the running kernel.
      type: str
    cpus:
      description: The number of CPUs that the kernel uses.
      type: int
  sample:
    inventory_name: compute1
    kernel_hostname: compute1
    libvirt: {uri: "qemu:///system", version: 9.0.0, hostname: compute1, host_uuid: null}
    unread: []
definitions:
  description: The XML definitions of guests, with the SHA-256 of each XML as the key. The XML is normalised and
    contains no secrets.
  returned: with O(definitions=true), when O(evidence_dir) is not given
  type: dict
  sample: {9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08: "<domain></domain>"}
inventory_name:
  description: Name of the host in the evidence. The default is C(inventory_hostname).
  returned: success
  type: str
  sample: compute1
sha256:
  description: SHA-256 of the file that was written.
  returned: when O(evidence_dir) is given
  type: str
  sample: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
path:
  description: Path of the file that the module wrote on the Ansible controller.
  returned: when O(evidence_dir) is given
  type: str
  sample: /run/stackguard-evidence/hosts/compute1.json
nova_host:
  description: The host name that nova-compute would use (C(CONF.host)); V(null) if nova.conf was not read.
  returned: when O(evidence_dir) is given
  type: str
  sample: compute1
domains:
  description: Number of domains; V(null) if the domains were not read.
  returned: when O(evidence_dir) is given
  type: int
  sample: 12
domain_uuids:
  description: Sorted list of the domains' uuids. The list is empty if the host has no domains, or if the module could
    not read the domains. If the module could not read the domains, RV(domains) is V(null).
  returned: when O(evidence_dir) is given
  type: list
  elements: str
  sample: [0b2c6e0e-5b0c-4b0e-8d0e-5f0a6f0f7a11]
directory_uuids:
  description: Sorted list of the uuids of instances that have a directory in C(instances_path), and no domain.
  returned: when O(evidence_dir) is given
  type: list
  elements: str
  sample: []
volumes:
  description: Ceph volumes in the definitions of the domains. The keys are C(uuids) and C(pools).
  returned: when O(evidence_dir) is given
  type: dict
  contains:
    uuids:
      description: Uuids of the volumes.
      type: list
      elements: str
    pools:
      description: Pools of the volumes.
      type: list
      elements: str
  sample: {pools: [volumes], uuids: [6f1d9b52-40f5-4d6c-8a59-0d35f9f0a1c3]}
unread:
  description: The parts of the facts that the module could not read, each with the reason.
  returned: success
  type: list
  elements: dict
  contains:
    part:
      description: Name of the part of the facts, such as C(ovs_external_ids).
      type: str
    reason:
      description: Reason why the module could not read this part of the facts.
      type: str
    cause:
      description: Key of the cause if the module left out the part on purpose, for example C(not-asked-for);
        V(null) if the module failed to read the part.
      type: str
  sample: [{part: ovs_external_ids, reason: Open vSwitch is not installed on this host}]
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

# The first of them.  pylint: disable-next=unused-import
import ansible_collections.stackguard.nova.plugins.module_utils.systems.host.compiled_once  # noqa: F401

from ..module_utils.model.host_facts import to_plain
from ..module_utils.systems.host import facts as host


def argument_spec() -> t.Dict[str, t.Dict[str, t.Any]]:
    """Return the options, as documented."""
    names = {"type": "list", "elements": "str"}
    return {
        "evidence_dir": {"type": "path"},
        "inventory_name": {"type": "str"},
        "nova_conf_files": {**names, "default": []},
        "nova_config_dirs": {**names, "default": []},
        "libvirt_uri": {"type": "str", "default": "qemu:///system"},
        "resolve_names": {**names, "default": []},
        "state_dir": {"type": "path", "default": host.STATE_DIR},
        "compute_units": {**names, "default": list(host.COMPUTE_UNITS)},
        "agent_units": {**names, "default": list(host.AGENT_UNITS)},
        "rbd": {"type": "bool", "default": False},
        "rbd_instances": {**names, "default": []},
        "rbd_blocklist": {"type": "bool", "default": False},
        "rbd_open": {"type": "bool", "default": True},
        "rbd_details": {"type": "bool", "default": False},
        "rbd_write": {"type": "bool", "default": False},
        "rbd_volumes": {**names, "default": []},
        "rbd_volume_pools": {**names, "default": []},
        "rbd_user": {"type": "str"},
        "rbd_conf": {"type": "path"},
        "ceph_command": {**names, "default": []},
        "definitions": {"type": "bool", "default": False},
        "name_users": {"type": "bool", "default": False},
        "firmware": {"type": "bool", "default": False},
    }


def main() -> None:
    """Read this host and return its facts."""
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    given = {**module.params, "rbd_write": module.params["rbd_write"] and not module.check_mode}
    texts: t.Dict[str, str] = {}
    facts = host.read_host(host.HostOptions.of(given), texts)
    plain = to_plain(facts)
    more = {"definitions": texts} if given["definitions"] else {}
    module.exit_json(changed=False, host=plain, inventory_name=facts.inventory_name, unread=plain["unread"], **more)


if __name__ == "__main__":
    main()
