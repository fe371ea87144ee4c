# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What tests against the lab share. Nothing here imports the collection: it judges it from outside.

lab: the lab and the ways into it (ssh, SQL, the API). state: what must not change, read independently. guests: the
servers every test uses. playbook: ``ansible-playbook`` as people run it. waiting: polling with a deadline.
"""
