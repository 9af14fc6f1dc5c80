# Everything a newcomer needs: `make demo` and `make test` set up what they need by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Processes that share the tests, each with a Postgres of its own.
WORKERS ?= 2

.PHONY: setup demo test check serve bench lock

setup: $(READY)

$(READY): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; name one with PYTHON=…") if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	touch $(READY)

demo: $(READY)
	$(BIN)/python manage.py demo

test: $(READY)
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy .
	$(BIN)/lint-imports
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python -m checks.dependencies
	$(BIN)/python -m checks.secrets

serve: $(READY)
	$(BIN)/python manage.py serve

# Less than 40 minutes; one that hangs is ended, and the others go on.
bench: $(READY)
	BENCH_LONGEST=$${BENCH_LONGEST:-1200} BENCH_ALTOGETHER=$${BENCH_ALTOGETHER:-2340} $(BIN)/python -m bench --write

bench-%: $(READY)
	$(BIN)/python -m bench $*

lock: $(READY)
	$(BIN)/pip-compile --quiet --extra dev --strip-extras --allow-unsafe --generate-hashes \
		--no-emit-index-url --no-emit-find-links --output-file requirements.lock pyproject.toml
