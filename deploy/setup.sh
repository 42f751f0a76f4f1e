#!/bin/sh
# Bring a bare Debian 12 to the point where Tasksys can run, or be tested.
#
#   deploy/setup.sh run     what the local stack needs
#   deploy/setup.sh test    that, and what tests and checks need
#
# Installs only what is missing: system packages by apt (as root, or with sudo), Python packages into .venv. A second run takes
# a moment. Packages without a service are chosen, so no system-wide server is installed, started or stopped.
# Exit codes: 0 ready, 69 something is missing and cannot be installed from here.
set -eu

purpose=${1:-run}
case $purpose in run | test) ;; *) echo "usage: deploy/setup.sh run|test" >&2; exit 64 ;; esac

cd -- "$(dirname -- "$0")/.."
PATH=$PATH:/usr/sbin:/sbin

# Two set-ups beside each other would install into one .venv at once. The lock is this file itself, so nothing is left over.
exec 9<deploy/setup.sh
if ! flock --nonblock 9; then
    echo "Waiting for another set-up in this folder …"
    flock 9
fi

say() { printf '%s\n' "$*"; }
fail() { printf '%s\n' "$*" >&2; exit 69; }
has() { command -v "$1" >/dev/null 2>&1; }

# --- system packages ---------------------------------------------------------------------------------------------------------

is_recent() { has "$1" && "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

can_make_venv() { "$1" -c 'import ensurepip, venv' 2>/dev/null; }

has_headers() { "$1" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'; }

# Debian's own before what else is in the PATH: it is compiled with profiles, which an interpreter built by hand mostly is not
# (docs/decisions/0025-which-interpreter.md). One with all that is needed before one that needs packages.
python_of_system() {
    set -- ${PYTHON:-/usr/bin/python3 python3 python3.14 python3.13 python3.12 python3.11}
    for candidate; do
        if is_recent "$candidate" && can_make_venv "$candidate" && has_headers "$candidate"; then printf '%s' "$candidate" && return 0; fi
    done
    for candidate; do
        if is_recent "$candidate"; then printf '%s' "$candidate" && return 0; fi
    done
    return 1
}

requirements_of_purpose() {
    if [ "$purpose" = test ]; then echo "requirements/base.txt requirements/dev.txt"; else echo "requirements/base.txt"; fi
}

fingerprint() { cat "$1" | sha256sum | cut -d ' ' -f 1; }

venv_works() { [ -x .venv/bin/python ] && [ "$(.venv/bin/python -c 'import sys; print(sys.prefix)' 2>/dev/null)" = "$PWD/.venv" ]; }

is_installed() { [ -f ".venv/.installed-$(basename "$1" .txt)" ] && [ "$(cat ".venv/.installed-$(basename "$1" .txt)")" = "$(fingerprint "$1")" ]; }

python_packages_are_installed() {
    venv_works || return 1
    for file in $(requirements_of_purpose); do is_installed "$file" || return 1; done
}

missing_packages() {
    has mariadbd && has mariadb-install-db || echo mariadb-server-core
    has mariadb && has mariadb-slap || echo mariadb-client
    # redis-tools brings no service. Where it has no redis-server, its redis-check-rdb is the same program under another name.
    { has redis-server || has redis-check-rdb; } && has redis-cli && has redis-benchmark || echo redis-tools
    has setpriv || echo util-linux
    if ! python_packages_are_installed; then
        # Some Python packages are compiled here.
        has cc || has gcc || echo gcc libc6-dev
        has pkg-config || echo pkg-config
        pkg-config --exists libmariadb 2>/dev/null || pkg-config --exists mysqlclient 2>/dev/null || echo libmariadb-dev
        if python=$(python_of_system); then
            can_make_venv "$python" || echo python3-venv
            has_headers "$python" || echo python3-dev
        else
            echo python3 python3-venv python3-dev
        fi
    fi
    if [ "$purpose" = test ]; then
        # Tests that step a process's clock compile what stands before it.
        has cc || has gcc || echo gcc libc6-dev
        # Tests of the network between two DBSvrs make hosts of their own.
        has ip && has nsenter || echo iproute2 util-linux
        has chromium || has chromium-browser || has google-chrome || echo chromium
        # Without Chinese glyphs every screenshot of a Chinese page shows boxes.
        has fc-list && fc-list ':lang=zh-cn' 2>/dev/null | grep -q . || echo fonts-wqy-microhei fontconfig
    fi
}

install_packages() {
    if [ "$(id -u)" = 0 ]; then
        as_root=
    elif has sudo && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
        as_root=sudo
    else
        fail "Missing, and there is no right to install it. Ask an administrator for:
    apt-get install --no-install-recommends $*
then run this again."
    fi
    has apt-get || fail "Missing, and there is no apt-get here. Install what Debian 12 calls: $*"
    say "Installing $* …"
    apt_get() {
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@"
    }
    apt_log=$(mktemp)
    if ! { apt_get update && apt_get install -y --no-install-recommends "$@"; } >"$apt_log" 2>&1; then
        tail -n 20 "$apt_log" >&2
        rm -f "$apt_log"
        fail "apt-get could not install: $*"
    fi
    rm -f "$apt_log"
}

missing=$(missing_packages | tr '\n' ' ')
# shellcheck disable=SC2086 # a list of words
[ -z "$missing" ] || install_packages $missing

# --- Python packages ---------------------------------------------------------------------------------------------------------

if ! venv_works; then
    python=$(python_of_system) || fail "Python 3.11 or newer is needed; PYTHON=… names one"
    say "Making .venv with $("$python" --version), $(command -v "$python") …"
    rm -rf .venv
    "$python" -m venv .venv
fi

for file in $(requirements_of_purpose); do
    if ! is_installed "$file"; then
        say "Installing $file …"
        .venv/bin/python -m pip install -qq --disable-pip-version-check -r "$file" ||
            fail "pip could not install $file into .venv"
        fingerprint "$file" >".venv/.installed-$(basename "$file" .txt)"
    fi
done

if ! has redis-server && ! [ -e .venv/bin/redis-server ]; then
    ln -s "$(command -v redis-check-rdb)" .venv/bin/redis-server
fi

# The program alone, out of Debian's package: installing the package would start a web server on this machine.
unpack_nginx() {
    unpacked=$(mktemp -d)
    (cd "$unpacked" && apt-get -q download nginx && dpkg-deb -x nginx_*.deb .) >/dev/null 2>&1 &&
        cp "$unpacked/usr/sbin/nginx" .venv/bin/nginx && .venv/bin/nginx -v 2>/dev/null
    unpacked_well=$?
    rm -rf "$unpacked"
    return $unpacked_well
}

if [ "$purpose" = test ] && ! has nginx && ! [ -x .venv/bin/nginx ]; then
    has apt-get || fail "Missing, and there is no apt-get here: nginx"
    say "Unpacking nginx into .venv …"
    # Package lists are often missing in containers.
    unpack_nginx || { [ "$(id -u)" = 0 ] && apt-get -q update >/dev/null 2>&1 && unpack_nginx; } ||
        fail "apt-get download nginx did not work. Ask an administrator for: apt-get update"
fi

# --- translations ------------------------------------------------------------------------------------------------------------

find . \( -path ./.venv -o -path ./var -o -path ./.git -o -name node_modules \) -prune -o -name '*.po' -print | while IFS= read -r catalogue; do
    compiled=${catalogue%.po}.mo
    if ! [ -f "$compiled" ] || [ "$catalogue" -nt "$compiled" ]; then
        language=$(basename "$(dirname "$(dirname "$catalogue")")")
        .venv/bin/python -m babel.messages.frontend --quiet compile --locale "$language" --input-file "$catalogue" --output-file "$compiled" ||
            fail "cannot compile $catalogue"
    fi
done
