#!/usr/bin/env bash
# Lint, types, doctests and the whole test suite, without network or GPU.
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
ensure_environment "[dev,docs]"
export CUDA_MODULE_LOADING=LAZY OMP_NUM_THREADS=1
.venv/bin/ruff check .
.venv/bin/ruff format --check .
# Types are checked while the tests run; what mypy says comes last.
.venv/bin/mypy >.venv/mypy.log 2>&1 &
types=$! code=0
.venv/bin/python -m pytest --doctest-modules -n "${TEST_WORKERS:-2}" --dist worksteal "$@" || code=$?
wait "$types" || code=1
cat .venv/mypy.log
exit "$code"
