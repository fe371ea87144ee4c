# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""kolla-ansible's own module, unmodified and from PyPI, with the parameters that the lab's containers were made by.

Its roles call it the same way: what it compares, and what it creates, is what `kolla-ansible deploy-containers` would.
"""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
import tarfile

from .lab import ROOT

PLAY = ROOT / "tests" / "labkit" / "kolla_module.yml"
#: kolla-ansible, podman-py, docker-py.
LOCK = ROOT / "requirements" / "kolla.txt"
FOLDER = "/opt/stackguard-test-kolla"


class KollaModule:
    """The module, ready to run on a host. ``command``: what an operator gives as rename_recreate_command."""

    def __init__(self, lab, host, directory):
        self.lab, self.host, self.directory = lab, host, directory
        self.target = directory / "pypi"
        self._install()
        self.playbook = directory / "play.yml"
        self.playbook.write_text(PLAY.read_text())
        (directory / "containers.json").write_text(json.dumps(self._parameters()))
        (directory / "ansible.cfg").write_text("[defaults]\n")
        (directory / "run").write_text(self._script())
        (directory / "run").chmod(0o755)

    def _install(self):
        uv = [str(ROOT / ".venv" / "bin" / "uv"), "pip", "install", "-q", "--no-deps", "--target", str(self.target)]
        subprocess.run([*uv, "--python", sys.executable, "-r", str(LOCK)], check=True)
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w:gz") as packed:
            for path in self.target.iterdir():
                if path.name not in ("bin", "share") and not path.name.startswith("kolla"):
                    packed.add(path, path.name)
        text = base64.b64encode(archive.getvalue()).decode()
        self.lab.ssh(self.host, f"mkdir -p {FOLDER} && base64 -d | tar -xz -C {FOLDER}", stdin=text)
        if self.lab.info["hosts"][self.host]["engine"] == "podman":
            self.lab.ssh(self.host, "systemctl start podman.socket")

    def _script(self):
        kolla = self.target / "share" / "kolla-ansible" / "ansible"
        words = [str(ROOT / ".venv" / "bin" / "ansible-playbook"), "-i", self.lab.info["inventory"], str(self.playbook)]
        return (
            "#!/bin/sh\n"
            "# ACTION CONTAINER...: kolla-ansible's module for these containers.\n"
            "action=$1; shift\n"
            f"export ANSIBLE_LIBRARY={kolla}/library ANSIBLE_MODULE_UTILS={kolla}/module_utils\n"
            f"export ANSIBLE_HOST_KEY_CHECKING=false ANSIBLE_CONFIG={self.directory}/ansible.cfg\n"
            f"exec {' '.join(words)} -e kolla_host={self.host} -e kolla_action=$action -e kolla_folder={FOLDER}"
            f" -e kolla_directory={self.directory} -e kolla_names=$(echo $* | tr ' ' ,)\n"
        )

    def _parameters(self):
        made = self.lab.info["hosts"][self.host]["container_arguments"]
        engine = self.lab.info["hosts"][self.host]["engine"]
        return {name: parameters(name, words, engine) for name, words in made.items()}

    @property
    def command(self):
        return f"{self.directory}/run recreate_or_restart_container {{containers}}"

    def run(self, action, *names):
        """Return what the module says of each container: its ``comparison_failures`` and whether it changed."""
        done = subprocess.run(
            [str(self.directory / "run"), action, *names], capture_output=True, text=True, check=False, timeout=900
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
        results = json.loads((self.directory / "results.json").read_text())
        return {entry["item"]: entry for entry in results}

    def differences(self, *names):
        """What kolla-ansible would change: the containers that it would create again, each with the reasons."""
        said = self.run("compare_container", *names)
        return {name: entry.get("comparison_failures") for name, entry in said.items() if entry["result"]}


def parameters(name, words, engine):
    """Return the module's parameters for a container that was made by these words of `podman create`."""
    found = {"name": name, "image": words[-1], "volumes": [], "environment": {}, "cap_add": []}
    modes = {"--pid": "pid_mode", "--ipc": "ipc_mode", "--cgroupns": "cgroupns_mode"}
    for word in words[:-1]:
        option, _sign, value = word.partition("=")
        if option in modes:
            found[modes[option]] = value
        elif option == "--volume":
            found["volumes"].append(value)
        elif option == "--env":
            key, _sign, text = value.partition("=")
            found["environment"][key] = text
        elif option == "--privileged":
            found["privileged"] = True
        elif option == "--mount":
            found["volumes"].append("devpts:/dev/pts")
        else:
            # What the module adds by itself.
            assert option in ("--name", "--network", "--stop-timeout", "--restart", "--cap-add"), word
    found["environment"].pop("KOLLA_SERVICE_NAME")
    common = {"container_engine": engine, "environment": {"KOLLA_CONFIG_STRATEGY": "COPY_ALWAYS"}}
    found["common_options"] = {**common, "restart_policy": "unless-stopped", "graceful_timeout": 60}
    return found
