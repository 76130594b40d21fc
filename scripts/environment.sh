# Sourced by demo.sh and test.sh: makes .venv in the repository and installs the project into it.
# Quick when nothing changed: the installed state is known by pyproject.toml's checksum.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ensure_environment() {
    local extra="$1" python="${PYTHON:-python3}" stamp
    stamp=".venv/.installed$extra-$(cksum < pyproject.toml | cut -d' ' -f1)"
    if [ -f "$stamp" ] && .venv/bin/python -c '' 2>/dev/null; then
        return
    fi
    if ! .venv/bin/python -c '' 2>/dev/null; then
        "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
            echo "Python 3.11 or later is needed; name one with PYTHON=python3.12 bash $0" >&2
            exit 2
        }
        echo "Making .venv ($("$python" --version)) ..." >&2
        "$python" -m venv --clear .venv
    fi
    echo "Installing uamt and what it needs (PyTorch is large: minutes) ..." >&2
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -e ".$extra"
    touch "$stamp"
}
