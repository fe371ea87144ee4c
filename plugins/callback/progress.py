# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ansible's own output, quiet about the tasks of this collection, and with how the run ended as its last lines."""

from __future__ import annotations

DOCUMENTATION = r"""
name: progress
type: stdout
short_description: Quiet output of this collection's playbooks
version_added: 0.2.0
author:
  - stackguard.nova contributors (@stackguard)
description:
  - Shows nothing of a task of this collection's roles and playbooks that went well or was skipped. What these tasks say
    themselves stays. An example is the number of the step that a rename begins.
  - Shows the message of each failure once, all unreachable hosts, all warnings, and every task of others as Ansible's
    default callback shows them.
  - Ends a run with its verdict, its worst finding, what to do next, and the path of the report.
  - With C(-v), everything is shown. If this plugin fails, the output of the default callback continues.
notes:
  - AWX uses its own callback, and not this one.
extends_documentation_fragment:
  - default_callback
  - result_format_callback
requirements:
  - set C(stdout_callback = stackguard.nova.progress) in the section C([defaults]) of C(ansible.cfg)
"""

import functools
import os
import time
import typing as t

from ansible import constants
from ansible.plugins.callback.default import CallbackModule as Default
from ansible.utils.fqcn import add_internal_fqcns

#: Files of this collection that its tasks and plays are in.
_ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
_ROLES = os.path.join(_ROOT, "roles", "")
_PLAYBOOKS = os.path.join(_ROOT, "playbooks")
_ACTIONS = "stackguard.nova."
#: What a result has beside a message that says no more than the message.
_NO_MORE = {"msg", "failed", "unreachable", "changed", "exception", "_ansible_no_log"}
#: Seconds after which a line says where the run is.
_PAUSE = 10
_BAR = 20
#: Strategies with which a task starts on each host by itself.
_FREE = add_internal_fqcns(("free", "host_pinned"))

Method = t.Callable[..., None]


def _or_default(method: Method) -> Method:
    """Show an event as Ansible does with -v, and from the first failure of this plugin on."""

    @functools.wraps(method)
    def event(self: CallbackModule, *args: t.Any, **kwargs: t.Any) -> None:
        if not self.plain:
            try:
                return method(self, *args, **kwargs)
            except Exception as error:  # noqa: BLE001 (whatever it is: the operator sees the run)
                self.give_up(error)
        return getattr(super(CallbackModule, self), method.__name__)(*args, **kwargs)  # type: ignore[no-any-return]

    return event


class CallbackModule(Default):
    """The default callback, of which tasks of this collection show less."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "stackguard.nova.progress"

    def __init__(self) -> None:
        super().__init__()
        #: Whether everything is as Ansible shows it.
        self.plain = bool(self._display.verbosity)
        #: Whether the play's title has been shown, and whether a task or play of others has.
        self._titled, self._others = True, False
        #: Lines of failures that were shown, by host.
        self._told: t.Dict[str, t.List[str]] = {}
        self._began = self._spoke = time.monotonic()
        #: Of tasks of ours, by where they are: since when they run, and how many hosts have answered.
        self._since: t.Dict[str, float] = {}
        self._answered: t.Dict[str, int] = {}

    def give_up(self, error: Exception) -> None:
        """Say that the output is Ansible's from here on."""
        self.plain = True
        self._display.warning(f"stackguard.nova.progress failed, so Ansible's own output follows: {error!r}")

    # --- plays and tasks

    @_or_default
    def v2_playbook_on_play_start(self, play: t.Any) -> None:
        """Show the title of a play of others. That of ours is due once a task of others is in it."""
        self._play = play
        self._titled = not _is_ours(play)
        if self._titled:
            self._others = True
            super().v2_playbook_on_play_start(play)

    @_or_default
    def v2_playbook_on_no_hosts_matched(self) -> None:
        """Show that a play of others has no hosts."""
        if not _is_ours(self._play):
            super().v2_playbook_on_no_hosts_matched()

    @_or_default
    def v2_playbook_on_task_start(self, task: t.Any, is_conditional: bool) -> None:
        """Show the title of a task of others; of ours, where the run is."""
        self._start(task, "TASK")

    @_or_default
    def v2_playbook_on_handler_task_start(self, task: t.Any) -> None:
        """Show the title of a handler of others."""
        self._start(task, "RUNNING HANDLER")

    def _start(self, task: t.Any, prefix: str) -> None:
        if not _is_ours(task):
            self._title_play()
            self._task_start(task, prefix=prefix)
            return
        # As _task_start does, without the title: a failure shows it.
        self._task_type_cache[task._uuid] = prefix
        self._last_task_name = None
        if self._play.strategy not in _FREE or task.get_path() not in self._since:
            self._since[task.get_path()], self._answered[task.get_path()] = time.monotonic(), 0
        self._progress(task)

    def _title_play(self) -> None:
        self._others = True
        if not self._titled:
            self._titled = True
            super().v2_playbook_on_play_start(self._play)

    @_or_default
    def v2_playbook_on_include(self, included_file: t.Any) -> None:
        """Show what a task of others includes."""
        if not _is_ours(included_file._task):
            super().v2_playbook_on_include(included_file)

    # --- results

    @_or_default
    def v2_runner_on_ok(self, result: t.Any) -> None:
        """Show a result of others; of ours, its warnings."""
        if not _is_ours(result.task):
            super().v2_runner_on_ok(result)
            return
        self._handle_warnings(result.result)
        self._answer(result)
        if result.result.get("_ansible_verbose_always") is True:
            # What a task is there to say, such as the summary of a run.
            said = result.result.get("msg")
            text = (
                "\n".join(map(str, said)) if isinstance(said, list) else str(said or self._dump_results(result.result))
            )
            self._display.display(text)

    @_or_default
    def v2_runner_on_skipped(self, result: t.Any) -> None:
        """Show a skipped task of others; of ours, its warnings."""
        if _is_ours(result.task):
            self._handle_warnings(result.result)
        else:
            super().v2_runner_on_skipped(result)

    @_or_default
    def v2_runner_item_on_ok(self, result: t.Any) -> None:
        """Show an item of others; of ours, its warnings."""
        if _is_ours(result.task):
            self._handle_warnings(result.result)
        else:
            super().v2_runner_item_on_ok(result)

    @_or_default
    def v2_runner_item_on_skipped(self, result: t.Any) -> None:
        """Show a skipped item of others; of ours, its warnings."""
        if _is_ours(result.task):
            self._handle_warnings(result.result)
        else:
            super().v2_runner_item_on_skipped(result)

    @_or_default
    def v2_runner_on_failed(self, result: t.Any, ignore_errors: bool = False) -> None:
        """Show a failure; of ours, its message once."""
        if not _is_ours(result.task):
            super().v2_runner_on_failed(result, ignore_errors)
            return
        self._handle_warnings(result.result)
        self._answer(result)
        if result.task.loop and "results" in result.result:
            return  # Its items have been shown.
        self._fail(result, "fatal", ": FAILED!", ignore_errors)

    @_or_default
    def v2_runner_item_on_failed(self, result: t.Any) -> None:
        """Show an item that failed; of ours, its message once."""
        if not _is_ours(result.task):
            super().v2_runner_item_on_failed(result)
            return
        self._handle_warnings(result.result)
        self._fail(result, "failed", f" (item={self._get_item_label(result.result)})")

    @_or_default
    def v2_runner_on_unreachable(self, result: t.Any) -> None:
        """Show that a host does not answer; of ours, why once."""
        if not _is_ours(result.task):
            super().v2_runner_on_unreachable(result)
            return
        self._handle_warnings(result.result)
        self._answer(result)
        self._fail(result, "fatal", ": UNREACHABLE!", result.task.ignore_unreachable, constants.COLOR_UNREACHABLE)

    def _fail(
        self, result: t.Any, word: str, what: str, ignored: bool = False, color: str = constants.COLOR_ERROR
    ) -> None:
        """Show a failure. The last task of a run repeats what the one before it has said: each line is shown once."""
        said = str(result.result.get("msg") or "").rstrip()
        # A module of ours returns its data, too. What another one returns may be all that is known.
        if said and (result.task.action.startswith(_ACTIONS) or set(result.result) <= _NO_MORE):
            known = self._told.setdefault(result.host.get_name(), [])
            lines = [line for line in said.splitlines() if line not in known]
            known += lines
            text = "\n" * (len(lines) > 1) + "\n".join(lines)
        else:
            text = self._dump_results({name: value for name, value in result.result.items() if name != "changed"})
        if not text:
            return
        if self._last_task_banner != result.task._uuid:
            self._print_task_banner(result.task)
        stderr = self.get_option("display_failed_stderr")
        self._display.display(f"{word}: [{self.host_label(result)}]{what} => {text}", color=color, stderr=stderr)
        if ignored:
            self._display.display("...ignoring", color=constants.COLOR_SKIP)
        self._spoke = time.monotonic()

    # --- progress

    def _answer(self, result: t.Any) -> None:
        self._answered[result.task.get_path()] = self._answered.get(result.task.get_path(), 0) + 1
        self._progress(result.task)

    def _progress(self, task: t.Any) -> None:
        """Say where the run is, unless something was said a moment ago."""
        now = time.monotonic()
        if now - self._spoke < _PAUSE:
            return
        self._spoke = now
        line = f"[{now - self._began:6.1f} s] {task.get_name().rpartition(' : ')[2].strip()}"
        answered = self._answered.get(task.get_path(), 0)
        if answered > 1:
            from ..module_utils.reports.evidence_words import duration

            hosts = len(self._play.get_variable_manager().get_vars(play=self._play)["ansible_play_hosts_all"])
            left = (now - self._since.get(task.get_path(), now)) / answered * (hosts - answered)
            line += f": {answered} of {hosts} hosts, about {duration(int(left))} left"
            if os.isatty(1):
                done = _BAR * answered // hosts
                line += f" [{'#' * done}{'-' * (_BAR - done)}]"
        self._display.display(line)

    # --- the end

    def v2_playbook_on_stats(self, stats: t.Any) -> None:
        """Show the last lines, and before them the recap if it says more."""
        lines: t.List[str] = []
        failed, verdict, recap = bool(stats.failures or stats.dark), None, True
        try:
            from ..plugin_utils import closing  # Here, its failure is one of this plugin: Ansible's output comes back.

            published = stats.custom.get("_run", {}).get("stackguard")
            if published:
                told = {line for shown in self._told.values() for line in shown}
                lines, verdict = closing.lines(published, failed, told), published.get("verdict")
                recap = self.plain or self._others or self.get_option("show_custom_stats")
        except Exception as error:  # noqa: BLE001 (whatever it is: the recap says how the run ended)
            self.give_up(error)
        if recap:
            super().v2_playbook_on_stats(stats)
        color = constants.COLOR_ERROR if failed else constants.COLOR_OK if verdict == "pass" else constants.COLOR_WARN
        for number, line in enumerate(["", *lines] if lines else []):
            self._display.display(line, color=color if number == 1 else None)


@functools.cache
def _is_path_of_ours(path: str) -> bool:
    real = os.path.realpath(path)
    return real.startswith(_ROLES) or os.path.dirname(real) == _PLAYBOOKS


def _is_ours(item: t.Any) -> bool:
    """Return True for a task or a play in a file of this collection. One that an operator includes is not."""
    # FILE:LINE
    return _is_path_of_ours((item.get_path() or "").rpartition(":")[0])
