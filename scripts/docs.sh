#!/usr/bin/env bash
# The documentation as a site, without warnings; the path of its first page is printed last.
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
ensure_environment "[docs]"
.venv/bin/sphinx-build -q -W --keep-going docs docs/_build
echo "Site: $PWD/docs/_build/index.html"
