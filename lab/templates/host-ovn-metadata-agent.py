# stackguard.nova lab: written by lab/lab at every start
"""The OVN metadata agent in one process: it is root already, and each helper it asks for rights takes 100 MiB."""

from __future__ import annotations

import sys

from neutron import privileged
from neutron.agent.ovn import metadata_agent
from oslo_privsep.priv_context import PrivContext

for context in vars(privileged).values():
    if isinstance(context, PrivContext):
        context.set_client_mode(False)
sys.exit(metadata_agent.main())
