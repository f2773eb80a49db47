# Sourced by bin/run and bin/test: leaves a ready virtual environment in $venv, or explains what is missing.
# Reads: $root (the checkout), $extras (optional dependency groups, may be empty).

say() { printf '%s\n' "cellwire: $*" >&2; }

find_python() {
    for candidate in python3 python3.13 python3.12 python3.11; do
        if command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c 'import sys; sys.exit(not sys.version_info >= (3, 11))' 2>/dev/null; then
            command -v "$candidate"
            return 0
        fi
    done
    return 1
}

# Installs Debian packages where that is permitted; prints the one line to run where it is not.
apt_install() {
    if ! command -v apt-get >/dev/null 2>&1; then
        say "please install with your system's package manager: $*"
        return 1
    fi
    if [ "$(id -u)" = 0 ]; then
        as_root=""
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        as_root="sudo"
    else
        say "some system packages are missing; please run:"
        printf '    sudo apt-get update && sudo apt-get install -y %s\n' "$*" >&2
        return 1
    fi
    say "installing system packages: $*"
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq >/dev/null &&
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

qt_packages="libegl1 libgl1 libopengl0 libdbus-1-3 libfontconfig1 libglib2.0-0 libxkbcommon0 \
libxkbcommon-x11-0 libxcb-cursor0 libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-randr0 \
libxcb-render-util0 libxcb-shape0 libxcb-xinerama0 libxcb-xkb1"

# Those of them that dpkg does not know as installed, so that one apt line names all that is missing.
missing_qt_packages() {
    for package in $qt_packages; do
        dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null |
            grep -qx installed || printf '%s ' "$package"
    done
}

make_environment() {
    python=$(find_python) || {
        # shellcheck disable=SC2046  # a list of words
        apt_install python3 python3-venv $(missing_qt_packages) || return 1
        python=$(find_python) || {
            say "Python 3.11 or newer is needed, and this system's python3 is older."
            return 1
        }
    }
    if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
        rm -rf "$venv"
        if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
            # shellcheck disable=SC2046  # a list of words
            apt_install python3-venv $(missing_qt_packages) || return 1
        fi
        say "creating a virtual environment in ${venv#"$root"/}"
        "$python" -m venv "$venv" || return 1
    fi
}

pip_install() {
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
        --constraint "$root/constraints.txt" "$@"
}

install_requirements() {
    stamp="$venv/.installed-${extras:-run}"
    # the folder's name counts, as an editable installation points there
    wanted=$({ printf '%s\n' "$root" && cat "$root/pyproject.toml" "$root/constraints.txt"; } | cksum)
    if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
        return 0
    fi
    say "installing dependencies (the first time this takes a minute or two)"
    target="$root"
    [ -z "$extras" ] || target="$root[$extras]"
    # setuptools of the constraints builds the checkout, instead of a fresh one in isolation
    { pip_install setuptools && pip_install --no-build-isolation --editable "$target"; } || {
        say "installing the dependencies failed; the lines above say why."
        return 1
    }
    printf '%s\n' "$wanted" >"$stamp"
}

# Loads what Qt loads: its widgets, and where there is an X display, the plugin that talks to it.
load_qt() {
    "$venv/bin/python" -c '
import ctypes, os, pathlib, sys
from PySide6 import QtCore, QtWidgets
if sys.platform == "linux" and os.environ.get("DISPLAY"):
    plugins = QtCore.QLibraryInfo.path(QtCore.QLibraryInfo.LibraryPath.PluginsPath)
    ctypes.CDLL(str(pathlib.Path(plugins, "platforms", "libqxcb.so")))
'
}

check_qt() {
    load_qt 2>/dev/null && return 0
    # shellcheck disable=SC2086  # a list of words
    apt_install $qt_packages || return 1
    load_qt || {
        say "Qt still cannot start; the line above names the library it misses."
        return 1
    }
}

venv="${CELLWIRE_VENV:-$root/.venv}"
make_environment && install_requirements && check_qt
