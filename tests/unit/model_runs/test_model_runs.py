# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two runs of one rename, interleaved at every request to the host and at every write, and killed anywhere.

Each course ends in one whole outcome, and the journal says which. Runner, journal, and what the host does with requests
are the real ones. Where a test says "all" courses, there are no others of that case: courses that differ in nothing but
the order of what does not touch are one. Those with more are in the part unit-long (``make test-matrix
PART=unit-long``), and random ones there are STACKGUARD_TEST_EXAMPLES times as many.
"""

from __future__ import annotations

import os
import tempfile

import pytest

from ansible_collections.stackguard.nova.plugins.module_utils.model.plan import CONTROLLER, HOST
from ansible_collections.stackguard.nova.tests.unit.model_runs.explore import Explorer
from ansible_collections.stackguard.nova.tests.unit.model_runs.world import APPLY, RESUME, ROLLBACK, Case, Defects

LONGER = pytest.mark.matrix("unit-long")


@pytest.fixture
def explored():
    # In memory: a file that replaces another one is written out by some file systems, and here are many thousands.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="stackguard-model-", dir=memory) as directory:

        def explore(case, defects=None, **how):
            given = {} if defects is None else {"defects": defects}
            return Explorer(os.path.join(directory, "state"), case, **given, **how)

        yield explore


@pytest.fixture
def times(request):
    """How many times as many random courses as usual: see labkit.longer."""
    longer = request.config.pluginmanager.hasplugin("labkit.longer")
    return int(os.environ.get("STACKGUARD_TEST_EXAMPLES") or 10) if longer else 1


# --- on one controller: a killed run is taken over at once ------------------------------------------------------------


@pytest.mark.parametrize(
    ("second", "last"),
    [
        (RESUME, ROLLBACK),
        (ROLLBACK, RESUME),
        *[pytest.param(*both, marks=LONGER) for both in ((RESUME, RESUME), (ROLLBACK, ROLLBACK))],
        *[pytest.param(APPLY, last, marks=LONGER) for last in (RESUME, ROLLBACK)],
    ],
)
def test_all_courses_in_which_one_of_them_is_killed_end_whole(explored, second, last):
    found = explored(Case(second=second, last=last), kills=1).all()
    # Who resumes what was killed before it had a journal begins nothing. Who applies it again does.
    always = (second, last) == (APPLY, RESUME)
    assert {ended for ended, *_runs in found.outcomes} == ({"finished"} if always else {"finished", "rolled-back"})
    # It is not that everything is refused.
    assert any(runs[0] == "killed" and runs[1] in ("finished", "rolled-back") for _ended, *runs in found.outcomes)
    assert found.courses > 400


@LONGER
@pytest.mark.parametrize("second", [RESUME, ROLLBACK])
def test_all_courses_in_which_both_are_killed_end_whole(explored, second):
    assert explored(Case(second=second), kills=2).all().courses > 1500


def test_a_kill_within_the_writing_of_a_journal_changes_nothing_of_that(explored):
    assert explored(Case(second=ROLLBACK, fine=True), kills=1, turns=2).all().courses > 200


@LONGER
def test_all_courses_with_kills_within_the_writing_of_a_journal(explored):
    assert explored(Case(second=ROLLBACK, fine=True), kills=1).all().courses > 1500


# --- on two controllers: the second one can not know whether the first one lives --------------------------------------


@pytest.mark.parametrize("second", [ROLLBACK, RESUME])
def test_a_run_that_stands_still_for_longer_than_others_wait_writes_nothing_late(explored, second):
    """The experiment of the review: A was inside a step, B rolled everything back and closed it, A wrote."""
    found = explored(Case(second=second, together=False), turns=2).all()
    assert ("rolled-back" if second == ROLLBACK else "finished", "failed", second_end(second)) in found.outcomes


def second_end(second):
    return "rolled-back" if second == ROLLBACK else "finished"


@LONGER
@pytest.mark.parametrize("second", [APPLY, RESUME, ROLLBACK])
@pytest.mark.parametrize("wheres", [(CONTROLLER, HOST), (HOST, CONTROLLER)])
def test_all_courses_of_two_controllers_end_whole(explored, second, wheres):
    assert explored(Case(second=second, together=False, wheres=wheres)).all().courses > 800


@LONGER
@pytest.mark.parametrize("second", [APPLY, ROLLBACK])
def test_two_controllers_of_which_one_is_killed_end_whole(explored, second):
    assert explored(Case(second=second, together=False, last=ROLLBACK), kills=1, turns=4).all().courses > 2000


@pytest.mark.examples
@pytest.mark.parametrize("second", [APPLY, RESUME, ROLLBACK])
def test_random_courses_of_longer_plans_end_whole(explored, second, times):
    wheres = (CONTROLLER, HOST, CONTROLLER, CONTROLLER, HOST)
    case = Case(second=second, together=False, wheres=wheres, fine=True)
    found = explored(case, kills=2).some(30 * times)
    assert len(found.outcomes) > 5


def test_two_that_begin_at_once_end_whole(explored):
    found = explored(Case(second=APPLY, together=False, last=ROLLBACK), kills=1, turns=2).all()
    assert ("finished", "failed", "finished") in found.outcomes


# --- the defects, put back in -----------------------------------------------------------------------------------------

FOUND = {
    "no run has a token": (Case(second=ROLLBACK), Defects(no_token=True), {}),
    "nothing is held while a request executes": (
        Case(second=ROLLBACK, together=False),
        Defects(no_lock=True),
        {"turns": 1},
    ),
    "a mark is compared and written in two acts": (
        Case(second=ROLLBACK, fine=True),
        Defects(no_lock=True),
        {"kills": 1, "turns": 2},
    ),
    "two openers pass": (
        Case(second=APPLY, together=False, last=ROLLBACK, patient=False, wheres=(CONTROLLER,)),
        Defects(blind_opening=True),
        {"kills": 1, "turns": 3},
    ),
    "who takes it up goes by what it read before": (
        Case(second=ROLLBACK),
        Defects(stale_journal=True),
        {"kills": 1, "turns": 3},
    ),
    "a run that stood still commits": (Case(second=ROLLBACK, together=False), Defects(never_stale=True), {"turns": 1}),
    "a run that lives is taken over": (Case(second=ROLLBACK, together=False), Defects(no_lease=True), {"turns": 1}),
    "the lock is called as the inventory calls the host": (
        Case(second=ROLLBACK, lock_names=("compute1", "rack7-node1")),
        Defects(no_token=True),
        {},
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_a_defect_put_back_in_is_found(explored, name):
    case, defects, how = FOUND[name]
    with pytest.raises(AssertionError, match="move host journal_open"):
        explored(case, defects, **how).all()


def test_one_lock_of_one_name_was_enough_while_no_request_outlived_its_run(explored):
    """So it is the name that the model finds, above."""
    case = Case(second=ROLLBACK, lock_names=("4c1f0a9e", "4c1f0a9e"))
    assert explored(case, Defects(no_token=True)).all().courses > 10
