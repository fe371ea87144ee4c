# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""compute_id_file on a real host: a lost file is written again; the identity of a live host goes to nobody else."""

from __future__ import annotations

import datetime

import pytest
from labkit import guests as guestkit

pytestmark = pytest.mark.matrix

HOST = "compute3"
FILE = "/var/lib/nova/compute_id"
BOOK = """
- name: Read the databases
  hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: Read the databases
      stackguard.nova.cell_info:
        nova_api_db_url: "{{ nova_api_db_url }}"
        evidence_dir: "{{ stackguard_report_dir }}/evidence"

- name: Write the compute_id file
  hosts: compute3
  gather_facts: false
  tasks:
    - name: Write the compute_id file
      stackguard.nova.compute_id_file:
        evidence_dir: "{{ stackguard_report_dir }}/evidence"
"""


@pytest.fixture
def lost(lab):
    """compute3 has lost its file, while its nova-compute runs on. Yields what was in it."""
    lab.command("guests", "delete", "--all", check=False)
    before = lab.ssh(HOST, f"cat {FILE}").strip()
    lab.ssh(HOST, f"mv {FILE} {FILE}.kept")
    yield before
    lab.ssh(HOST, f"mv {FILE}.kept {FILE}")
    restarted(lab)
    lab.command("guests", "delete", "--all", check=False)


def restarted(lab):
    """nova-compute starts, and has read its file: a report of before says nothing."""
    since = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    lab.ssh(HOST, "systemctl restart nova-compute")
    guestkit.wait_compute(lab, HOST, since=since)


def test_a_lost_file_is_written_again_and_never_for_a_machine_that_may_be_another_one(lab, lost, playbooks, tmp_path):
    book = tmp_path / "compute_id.yml"
    book.write_text(BOOK)
    # Without a guest, a second machine of this name looks the same: its nova-compute runs, and refuses to serve.
    lab.ssh(HOST, "systemctl restart nova-compute")
    refused = playbooks.run(str(book)).failed()
    assert f"the nova-compute service of {HOST} reported to Nova at" in refused.output
    assert f"this machine runs no guest of {HOST}" in refused.output
    assert "No such file" in lab.ssh(HOST, f"cat {FILE} 2>&1 || :")
    # With one, it is the host itself.
    lab.ssh(HOST, f"cp -p {FILE}.kept {FILE}")
    restarted(lab)
    guestkit.create(lab, "own", "1", "--on", HOST)
    lab.ssh(HOST, f"rm {FILE}")
    playbooks.run(str(book), flags=["--check", "--diff"]).ok()
    assert "No such file" in lab.ssh(HOST, f"cat {FILE} 2>&1 || :")
    playbooks.run(str(book)).ok()
    assert lab.ssh(HOST, f"cat {FILE}").strip() == lost
    assert playbooks.run(str(book)).ok().changed == 0
    restarted(lab)
