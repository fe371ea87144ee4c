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
        C(mysql+pymysql://USER:PASSWORD@HOST/nova_api). MySQL, MariaDB and PostgreSQL are supported.
      - To find the databases of the cells, the module reads the table C(cell_mappings) of Nova's API database. If the
        URLs in C(cell_mappings) are templates, the module fills in the placeholders from O(nova_api_db_url).
  nova_cell_db_urls:
    type: dict
    description:
      - Dictionary that maps the name or uuid of a cell to the URL of the cell's database. Use O(nova_cell_db_urls) for
        cells whose URL in C(cell_mappings) does not work from the Ansible controller. For every cell that is not in
        O(nova_cell_db_urls), the module uses the URL in C(cell_mappings).
  neutron_db_url:
    type: str
    description:
      - URL of neutron's database. In neutron's database, the module uses the table C(agents). In a cloud with OVN, and
        for an audit, the module also uses the tables of port bindings.
  rabbit_urls:
    type: raw
    description:
      - Dictionary that maps the name or uuid of a cell to the URL of the cell's RabbitMQ, in the format of
        C(transport_url) in C(nova.conf). In a cloud with one cell, one URL is enough.
      - The default is C(transport_url) of each cell in C(cell_mappings) of Nova's API database.
      - A RabbitMQ counts as read only if the queue of another nova-compute of its cell has a consumer there.
requirements:
  - SQLAlchemy >= 2.0
  - PyMySQL >= 1.0 (for MySQL and MariaDB)
  - psycopg >= 3.1 (for PostgreSQL)
  - amqp >= 5.0 (for RabbitMQ)
notes:
  - The collection's C(docs/reference/grants.md) lists the privileges that the database user needs. The database user
    needs no privilege to create, drop or delete.
"""
