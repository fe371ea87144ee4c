# SPDX-License-Identifier: GPL-3.0-or-later
# Everything here runs on a fresh Debian 12, as root, with nothing but make installed.
# Files it makes: .venv/ and .build/ (ignored by git), and nothing in your home directory but the caches of pip and uv.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:
unexport PYTHONDONTWRITEBYTECODE
export PATH := $(CURDIR)/.venv/bin:$(PATH)
PYTEST := .venv/bin/python -m pytest
PYTEST_ARGS ?=
XDIST ?= -n auto
CORES_SOME := tests/unit/test_playbook_reads.py tests/unit/test_resize_playbook.py tests/unit/test_nobody_there.py \
    tests/unit/test_progress_callback.py
# The directories of the pure rooms (PURE of tests/gates/consistency.py): what tests there ask for is in memory.
CHECKED := $(addprefix tests/unit/,model name_places capacity checks plans reports)
# L2: the network of make demo's lab; ovn shows the same with OVN
L2 ?= tap
# VOLUME: not empty, the guests that make demo loses boot from Cinder volumes
VOLUME ?=
# PART: which parts of make test-matrix; all without it
PART ?=
# INTEGRATION: what make integration runs, such as INTEGRATION=tests/integration/test_zones.py
INTEGRATION_OVS := tests/integration/test_3_openvswitch.py
INTEGRATION_SECOND := $(wildcard tests/integration/test_evacuate*.py)
# The one that needs a lab with Cinder: that of integration-second
INTEGRATION_VOLUMES := tests/integration/test_volumes_short.py
INTEGRATION ?= tests/integration --ignore $(INTEGRATION_OVS) --ignore $(INTEGRATION_VOLUMES)

.PHONY: help venv lock collection dev-link check unit lint sanity cores cores-found importer docs format lab demo integration \
        integration-db integration-ovs integration-first integration-second crash test \
        test-matrix clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z%-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: ## .venv/ with the pinned tools and libraries
	@tests/gates/venv.sh

lock: venv ## pin requirements/dev.in anew in requirements/dev.txt
	@.venv/bin/uv pip compile -q --upgrade --universal --python-version 3.11 --no-header requirements/dev.in -o requirements/dev.txt
	@sed -i '1i # Made by make lock from dev.in, whose licence is its own too.' requirements/dev.txt

collection: venv ## build the collection and install it below .build/collections
	@tests/gates/build.sh
	@tests/gates/install.sh
	@echo "Installed below .build/collections: $$(basename .build/dist/*.tar.gz)"

dev-link: ## make .build/collections point at the checkout instead
	@tests/gates/devlink.sh .build/collections
	@echo ".build/collections/ansible_collections/stackguard/nova is the checkout itself"

check: lint ## lint, types and the unit tests of the pure rooms: while you work, without servers and lab
	@tests/gates/devlink.sh
	$(PYTEST) $(CHECKED) -q -m "not ansible and not slow" $(XDIST) --junitxml=.build/junit/check.xml $(PYTEST_ARGS)
	@echo "make check has passed. Not run: playbooks, databases, the lab. make test runs everything."

unit: venv ## unit tests, on the checkout
	@tests/gates/need.sh
	@tests/gates/devlink.sh
	@rm -rf .build/codes
	STACKGUARD_CODES=.build/codes $(PYTEST) tests/unit lab/tests $(XDIST) --junitxml=.build/junit/unit.xml $(PYTEST_ARGS)
	@test -n "$(PYTEST_ARGS)" || .venv/bin/python tests/gates/codes.py .build/codes

lint: venv ## ruff, mypy --strict, Python 3.9, shellcheck, licences, changelog, ansible-lint, antsibull-docs
	@tests/gates/need.sh
	@tests/gates/lint.sh

format: venv ## let ruff format and mend the code
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

sanity: venv ## ansible-test sanity, without containers, on what ships
	@tests/gates/need.sh
	@tests/gates/sanity.sh

cores: venv ## sanity and unit tests on the other releases of ansible-core, each with its Python (not part of make test)
	@tests/gates/need.sh
	@tests/gates/cores.sh

# What is most likely to differ: unit tests that run playbooks. On a bare Debian 12 it says what is not tested.
cores-found: venv
	@tests/gates/need.sh
	@CORES_MISSING=told CORES_ONLY=unit CORES_TESTS="$(CORES_SOME)" tests/gates/cores.sh

importer: venv ## galaxy-importer on the built collection
	@tests/gates/need.sh
	@tests/gates/importer.sh

docs: venv ## HTML documentation in .build/docs/html
	@tests/gates/docs.sh

lab: venv ## a real OpenStack on this machine (see lab/)
	lab/lab up

demo: collection ## what the collection guards against, shown on the lab
	@lab/demo --l2 $(L2) $(if $(VOLUME),--volume)

integration: collection ## playbooks against the lab
	@tests/gates/devlink.sh
	lab/lab up --fast-stop
	$(PYTEST) $(INTEGRATION) --junitxml=.build/junit/integration.xml $(PYTEST_ARGS)

integration-first: INTEGRATION += $(foreach file,$(INTEGRATION_SECOND),--ignore $(file))
integration-first: integration # for make test

integration-second: collection # for make test, on its second lab
	lab/lab up --fast-stop --cinder
	$(PYTEST) $(INTEGRATION_SECOND) $(INTEGRATION_VOLUMES) --junitxml=.build/junit/integration-second.xml $(PYTEST_ARGS)

integration-ovs: collection ## the rename against a second lab, with Open vSwitch agents
	$(PYTEST) $(INTEGRATION_OVS) --junitxml=.build/junit/integration-ovs.xml $(PYTEST_ARGS)

integration-db: collection ## database code against real database servers
	@tests/gates/need.sh databases
	@tests/gates/devlink.sh
	$(PYTEST) tests/integration_db --junitxml=.build/junit/integration-db.xml $(PYTEST_ARGS)

crash: collection ## killed at every step, run again
	lab/lab up --fast-stop
	$(PYTEST) tests/crash --junitxml=.build/junit/crash.xml $(PYTEST_ARGS)

test: collection ## everything: unit, lint, sanity, importer, docs, cores-found, integration-db, integration, integration-ovs, crash
	@tests/gates/need.sh
	@MAKEFLAGS= MAKELEVEL= .venv/bin/python tests/gates/all.py

test-matrix: collection ## what is too long for every run: all parts, or PART="evacuation moves" (tests/matrix --list)
	@tests/gates/need.sh databases
	@tests/gates/devlink.sh
	@MAKEFLAGS= MAKELEVEL= .venv/bin/python tests/matrix $(PART)

bench-%: collection ## tests/bench/NAME.py
	@test -e tests/bench/$*.py || { echo "there is no tests/bench/$*.py" >&2; exit 2; }
	@tests/gates/devlink.sh
	.venv/bin/python tests/bench/$*.py

clean: ## remove .venv and .build
	@if [ -s .build/home-path ]; then rm -rf "$$(cat .build/home-path)"; fi
	rm -rf .venv .build
