# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A job as AWX runs it, but for the container: what it puts where is taken from awx/main/tasks/jobs.py of AWX 24.6.

What of answers and other variables gets so far, and which of them may hold Jinja, say the rules in awx_rules.py.
A private data directory is made (the project with its playbooks, an inventory script, extra variables of which only the
template's own may hold Jinja, credentials as files, environment and extra variable files), transmitted, run by
``ansible-runner worker`` as in an execution environment, and its events processed. Artifacts are what set_stats
published.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import ansible_runner
import jinja2.sandbox

from ansible_collections.stackguard.nova.tests.unit.awx import awx_rules
from ansible_collections.stackguard.nova.tests.unit.awx.data import COMMON, TEMPLATES, TYPES, asked
from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD, ROOT

#: The host that keeps the journals, which is not the job's container: a connection of its own to this machine.
PERMANENT = {"ansible_connection": "permanent_host", "ansible_python_interpreter": sys.executable}
SCRIPT = "#!/usr/bin/env python3\nprint(%r)\n"


@dataclasses.dataclass
class Outcome:
    """How a job ended. ``artifacts`` go to the next node of a workflow; ``directory`` is what AWX would keep of it."""

    status: str
    stdout: str
    artifacts: dict
    directory: pathlib.Path

    @property
    def told(self):
        return self.artifacts.get("stackguard", {})

    @property
    def given(self):
        """Where the job had its credentials, which goes with it; the last is the runner's record of its environment."""
        places = [self.directory.parent / name for name in ("sent", "transmitted", "runner/env")]
        return [*places, *self.directory.parent.glob("*/artifacts/*/command")]


class Controller:
    """Organization, project and common extra variables, in a directory of their own."""

    def __init__(self, folder, short_tmp, **common):
        self.folder = folder
        self.short_tmp = short_tmp
        self.number = 0
        self.common = {
            "stackguard_awx_dir": str(folder / "awx"),
            "stackguard_report_dir": "{{ stackguard_awx_dir }}/jobs/{{ awx_job_id }}",
            "stackguard_state_host": "ops1",
            "stackguard_state_dir": str(folder / "state"),
            "stackguard_host_state_dir": str(folder / "host-state"),
            "stackguard_overrides": COMMON["stackguard_overrides"],
            **common,
        }

    def launch(
        self,
        name,
        hosts,
        answers=None,
        credentials=None,
        workflow=None,
        artifacts=None,
        verbosity=0,
        limit=None,
        extra=None,
        prompts=None,
        jinja="template",
    ):
        """Run the template with the answers to its survey; of the others what AWX makes of their defaults.

        With the number of a ``workflow`` or with ``artifacts`` it is a node, and the answers are the workflow's.
        ``extra``: variables that the launch comes with besides; ``prompts``: instead of what configure.yml sets;
        ``jinja``: AWX's setting ALLOW_JINJA_IN_EXTRA_VARS.
        """
        self.number += 1
        template = TEMPLATES[name]
        place = self.folder / f"job{self.number}"
        sent, there = place / "sent", place / "runner"
        for directory in (sent / "env", sent / "inventory", there):
            directory.mkdir(parents=True)
        shutil.copytree(ROOT / "playbooks", sent / "project" / "playbooks")
        inventory = {"compute": {"hosts": list(hosts)}, "state": {"hosts": ["ops1"]}}
        inventory.update(all={"children": list(inventory)}, _meta={"hostvars": {**hosts, "ops1": PERMANENT}})
        write(sent / "inventory" / "hosts", SCRIPT % json.dumps(inventory), 0o700)
        # What every template has stands first in its extra variables: here it is the test's.
        own = {**template["extra_vars"], **self.common}
        own.update({name: value for name, value in template["extra_vars"].items() if COMMON.get(name) != value})
        ask = {"ask_variables_on_launch": (prompts or template)["ask_variables_on_launch"]}
        as_kept, questions = as_template(name, own, ask), list(asked(template).values())
        artifacts = {} if artifacts is None and workflow is not None else artifacts
        taken = given(as_kept, questions, {**(answers or {}), **(extra or {})}, artifacts)
        variables = {**awx_rules.job_variables(as_kept, questions, taken), **self.meta(as_kept, workflow)}
        write(sent / "env" / "extravars", awx_rules.dump(variables, own, jinja))
        env, arguments = self.inject(credentials or {}, sent, there)
        if template["job_type"] == "check":
            arguments.append("--check")
        if template["diff_mode"]:
            arguments.append("--diff")
        if limit:
            arguments += ["-l", limit]
        if verbosity:
            arguments.append("-" + "v" * verbosity)
        write(sent / "env" / "cmdline", ansible_runner.utils.args2cmdline("-u", "root", *arguments))
        return self.run(sent, there, template["playbook"], env)

    def meta(self, template, workflow):
        """What AWX adds to every job."""
        around = None if workflow is None else {"id": workflow, "name": "a workflow", "launch_type": "manual"}
        job = {"id": self.number, "launch_type": "manual" if workflow is None else "workflow"}
        return awx_rules.meta_variables(
            job,
            workflow=around,
            template=template,
            user={"id": 1, "username": "admin"},
            inventory={"id": 1, "name": "Compute hosts"},
            project={"scm_revision": "0" * 40, "scm_branch": "main"},
        )

    def inject(self, credentials, sent, there):
        """Return environment and arguments. ``credentials``: type to its inputs; files go where the job finds them."""
        env = {
            "ANSIBLE_COLLECTIONS_PATH": str(BUILD / "dev"),
            "ANSIBLE_CONNECTION_PLUGINS": str(pathlib.Path(__file__).parent / "connection_plugins"),
            "ANSIBLE_FORCE_COLOR": "True",
            "ANSIBLE_HOST_KEY_CHECKING": "False",
            "ANSIBLE_INVENTORY_UNPARSED_FAILED": "True",
            "ANSIBLE_RETRY_FILES_ENABLED": "False",
            "AWX_PRIVATE_DATA_DIR": str(sent),
            "HOME": str(there),
            "TMPDIR": str(self.short_tmp),
        }
        arguments = []
        for kind, inputs in credentials.items():
            injectors = TYPES[kind]["injectors"]
            render = jinja2.sandbox.ImmutableSandboxedEnvironment()
            names = {**inputs, "tower": {}}

            def made(content, render=render, names=names):
                return render.from_string(content).render(**names)

            for label, template in injectors.get("file", {}).items():
                path, name = self.kept(made(template), sent, there), label.partition(".")[2]
                filename = {**names["tower"].get("filename", {}), name: path} if name else path
                names["tower"] = {"filename": filename}
            env.update({key: made(value) for key, value in injectors.get("env", {}).items()})
            extra = {key: made(value) for key, value in injectors.get("extra_vars", {}).items()}
            if extra:
                arguments += ["-e", "@" + self.kept(awx_rules.dump(extra), sent, there)]
        return env, arguments

    def kept(self, content, sent, there):
        handle, path = tempfile.mkstemp(dir=sent / "env")
        os.close(handle)
        write(pathlib.Path(path), content)
        return str(there / "env" / pathlib.Path(path).name)

    def run(self, sent, there, playbook, env):
        settings = {"suppress_ansible_output": True}
        with (sent.parent / "transmitted").open("wb") as stream:
            ansible_runner.interface.run(
                streamer="transmit",
                _output=stream,
                private_data_dir=str(sent),
                ident=str(self.number),
                playbook=playbook,
                envvars=env,
                settings=settings,
            )
        tools = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
        argv = [sys.executable, "-m", "ansible_runner", "worker", "--private-data-dir", str(there)]
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("ANSIBLE_", "OS_"))}
        with (sent.parent / "transmitted").open("rb") as stream:
            worker = subprocess.run(argv, stdin=stream, env={**clean, "PATH": tools}, capture_output=True, check=False)
        kept = self.folder / f"job{self.number}" / "kept"
        events = []
        result = ansible_runner.interface.run(
            streamer="process",
            _input=io.BytesIO(worker.stdout),
            private_data_dir=str(kept),
            ident=str(self.number),
            settings=settings,
            event_handler=lambda event: bool(events.append(event)) or True,
        )
        assert result.status in ("successful", "failed"), worker.stdout + worker.stderr
        artifacts = {}
        for event in events:
            artifacts = event.get("event_data", {}).get("artifact_data") or artifacts
        told = "\n".join(event["stdout"] for event in events if event.get("stdout"))
        return Outcome(result.status, re.sub(r"\x1b\[[0-9;]*m", "", told), artifacts, kept)


def write(path, content, mode=0o600):
    path.write_text(content)
    path.chmod(mode)


def as_template(name, own, prompts=None):
    """A template as the rules take it, with its own extra variables and what it prompts for."""
    return {
        "type": "job_template",
        "name": name,
        "id": 1,
        "project": 1,
        "inventory": 1,
        "extra_vars": own,
        **(prompts or {}),
    }


def given(template, questions, answers, artifacts):
    """What a job is launched with. By hand: valid answers, or AWX refuses the launch. In a workflow, that is with
    artifacts: those, and above them the workflow's answers, which no survey of a node filters."""
    if artifacts is not None:
        return awx_rules.node_variables(template, questions, {}, artifacts, answers)
    taken, _ignored, errors = awx_rules.accept_launch(template, questions, answers, {})
    assert not errors, f"AWX refuses to launch {template['name']}: {errors}"
    return taken.get("extra_vars", {})


def accepted(questions, given, prompts):
    """Return what AWX takes of the variables that come with a launch, and which answers among them are wrong.

    ``questions``: by variable. ``prompts``: the template, or what it prompts for.

    Those that are missing are none of these: a launch wants them, a node of a workflow does not.
    """
    template = as_template("a template", {}, {"ask_variables_on_launch": prompts["ask_variables_on_launch"]})
    taken, _ignored, _errors = awx_rules.accept_variables(template, list(questions.values()), given)
    return taken, [name for name, ask in questions.items() if awx_rules.answer_errors(ask, given, required=False)]
