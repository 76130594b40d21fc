#!/usr/bin/env bash
# Lint, types, doctests and the whole test suite, without network or GPU.
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
ensure_environment "[dev,docs]"
export CUDA_MODULE_LOADING=LAZY OMP_NUM_THREADS=1
.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/mypy
exec .venv/bin/python -m pytest --doctest-modules -n "${TEST_WORKERS:-2}" --dist worksteal "$@"
