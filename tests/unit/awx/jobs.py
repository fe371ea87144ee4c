# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A job as AWX runs it, but for the container: what it puts where is taken from awx/main/tasks/jobs.py of AWX 24.6.

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
import yaml

from ansible_collections.stackguard.nova.tests.unit.awx.data import COMMON, QUESTIONS, TASKS, TEMPLATES, TYPES
from ansible_collections.stackguard.nova.tests.unit.conftest import BUILD, ROOT

#: The host that keeps the journals, which is not the job's container: a connection of its own to this machine.
PERMANENT = {"ansible_connection": "permanent_host", "ansible_python_interpreter": sys.executable}
SCRIPT = "#!/usr/bin/env python3\nprint(%r)\n"


class UnsafeDumper(yaml.SafeDumper):
    """Every string marked as one that Ansible must not template."""

    def represent_data(self, value):
        if isinstance(value, str):
            return self.represent_scalar("!unsafe", value)
        return super().represent_data(value)


def dump(variables, safe=()):
    """Return extra variables as AWX writes them: Jinja only in those that are the template's own."""
    return "".join(
        yaml.dump_all([{key: value}], None, Dumper=yaml.SafeDumper if key in safe else UnsafeDumper)
        for key, value in variables.items()
    )


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
    ):
        """Run the template with the answers to its survey; the others are its defaults.

        ``extra``: variables that the launch comes with besides; ``prompts``: instead of what configure.yml sets.
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
        own = {**self.common, **template.get("extra_vars", {})}
        meta = {"awx_job_id": self.number, "awx_job_template_name": name}
        if workflow is not None:
            meta["awx_workflow_job_id"] = workflow
        taken, _errors = accepted(template.get("survey", []), extra or {}, prompts or TASKS["awx.awx.job_template"])
        variables = {**own, **survey(template, answers or {}), **taken, **(artifacts or {}), **meta}
        write(sent / "env" / "extravars", dump(variables, safe=own))
        env, arguments = self.inject(credentials or {}, sent, there)
        if template.get("job_type") == "check":
            arguments.append("--check")
        if template.get("diff_mode"):
            arguments.append("--diff")
        if limit:
            arguments += ["-l", limit]
        if verbosity:
            arguments.append("-" + "v" * verbosity)
        write(sent / "env" / "cmdline", ansible_runner.utils.args2cmdline("-u", "root", *arguments))
        return self.run(sent, there, f"playbooks/{template['playbook']}", env)

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
                arguments += ["-e", "@" + self.kept(dump(extra), sent, there)]
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


def survey(template, answers):
    """Return what AWX makes of a survey: answers, and defaults of the others. What nobody asked is refused."""
    questions = template.get("survey", [])
    assert set(answers) <= set(questions), f"{template['name']} does not ask {set(answers) - set(questions)}"
    found = {}
    for name in questions:
        question = QUESTIONS[name]
        value = answers.get(name, question.get("default"))
        if value is None:
            assert not question["required"], f"{template['name']} wants {name}"
            continue
        if question["type"] == "multiselect" and isinstance(value, str):
            value = value.split("\n")
        found[name] = value
    return found


def accepted(questions, given, prompts):
    """Return what AWX takes of the variables that a launch comes with, and what is wrong with answers among them.

    As awx/main/models/mixins.py does it (SurveyJobTemplateMixin, _accept_or_ignore_variables) in AWX 24.6: valid
    answers to the survey; any other variable only where variables are prompted for. Those of a workflow are taken by
    its survey, and go to all its nodes past their templates' (awx/main/models/workflow.py, get_job_kwargs).
    """
    taken, errors, others = {}, [], dict(given)
    for name in questions:
        if name in others:
            value = others.pop(name)
            if valid(QUESTIONS[name], value):
                taken[name] = value
            else:
                errors.append(name)
    return {**taken, **(others if prompts["ask_variables_on_launch"] else {})}, errors


def valid(question, value):
    """Whether AWX takes an answer (_survey_element_validation)."""
    kind, choices = question["type"], question.get("choices", [])
    if kind in ("text", "textarea"):
        return isinstance(value, str) and len(value) <= question.get("max", len(value))
    if kind == "integer":
        return type(value) is int and question["min"] <= value <= question["max"]
    return set(value) <= set(choices) if kind == "multiselect" else value in choices
