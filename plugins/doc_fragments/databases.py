# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options that lead to the databases of Nova and neutron."""

from __future__ import annotations


class ModuleDocFragment:
    """Documentation of module_utils/systems/api/connection.py, DATABASE_SPEC."""

    DOCUMENTATION = r"""
options:
  nova_api_db_url:
    type: str
    description:
      - URL of Nova's API database, as in C([api_database] connection) of C(nova.conf), such as
        C(mysql+pymysql://USER:PASSWORD@HOST/nova_api). MySQL, MariaDB and PostgreSQL are understood.
      - The databases of the cells are found through its C(cell_mappings). Where these are templates, the placeholders
        are filled in from this URL.
  nova_cell_db_urls:
    type: dict
    description:
      - Names of cells (or their uuids) to URLs, where those in C(cell_mappings) do not work from the controller. Cells
        that are not named here are reached as C(cell_mappings) says.
  neutron_db_url:
    type: str
    description: URL of neutron's database. Only the table C(agents) is used.
requirements:
  - SQLAlchemy >= 2.0
  - PyMySQL >= 1.0 (for MySQL and MariaDB)
  - psycopg >= 3.1 (for PostgreSQL)
notes:
  - The rights that a database user needs are listed in the collection's C(docs/database-grants.md). No right to
    create, drop or delete anything is among them.
"""
