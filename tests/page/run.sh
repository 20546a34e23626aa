#!/bin/sh
# run.sh - the tests of the page, in Chromium: installs what they need, then runs them.
#
# Node.js and Chromium come with the system's package manager, as root or with sudo; the two
# packages of package-lock.json with npm, into node_modules beside it. Arguments go to the tests.

set -u
here=$(dirname "$0")
say() { printf '%s\n' "$1" >&2; }
is_command() { command -v "$1" >/dev/null 2>&1; }
find_browser() { CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser)}; }

install() { # install PACKAGES..
    if ! is_command apt-get; then
        say "The tests of the page need $*: install them with this system's package manager"
        exit 1
    fi
    if [ "$(id -u)" = 0 ]; then
        sudo=
    elif is_command sudo; then
        sudo=sudo
    else
        say "The tests of the page need $*: apt-get install $* (it needs root)"
        exit 1
    fi
    say "The tests of the page need $*, installing: apt-get install $*"
    get="$sudo env DEBIAN_FRONTEND=noninteractive apt-get"
    { $get install -y --no-install-recommends "$@" ||
        { $get update && $get install -y --no-install-recommends "$@"; }; } >&2 || {
        say "The tests of the page need $*, which could not be installed"
        exit 1
    }
}

find_browser
[ -n "$CHROMIUM" ] || install chromium fonts-dejavu-core
find_browser
export CHROMIUM
is_command node || install nodejs
is_command npm || install npm
if ! cmp -s "$here/package-lock.json" "$here/node_modules/.installed-for"; then
    (cd "$here" && npm ci --no-audit --no-fund >&2) || {
        say "The tests of the page need the packages of tests/page/package-lock.json: npm ci failed"
        exit 1
    }
    cp "$here/package-lock.json" "$here/node_modules/.installed-for"
fi
failed=0
for tests in test_same.mjs test_page.mjs; do
    node "$here/$tests" "$@" || failed=1
done
exit $failed
