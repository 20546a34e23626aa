#!/bin/sh
# check_library.sh - Check (libcheck.github.io), the library our tests are written with.
#
#   check_library.sh find      prints its version and flags, for the Makefile; fails without it
#   check_library.sh install   gets it with the system's package manager, and says what it does
#
# `make` never needs it; `make test` installs it where it is missing.

CC=${CC:-cc}

say() { printf '%s\n' "$1" >&2; }
is_command() { command -v "$1" >/dev/null 2>&1; }

# ---- find: the ways to link it differ from system to system, so they are tried ---------------

has_header() { # has_header CFLAGS
    echo '#include <check.h>' | $CC $CPPFLAGS $1 -E -x c - >/dev/null 2>&1
}

links() { # links CFLAGS LIBS: a program that runs a suite, which takes more of the library
    printf '%s\n' '#include <check.h>' 'int main(void)' \
        '{ srunner_run_all(srunner_create(suite_create("")), CK_ENV); return 0; }' |
        $CC $CPPFLAGS $1 -x c - $LDFLAGS -o "$work/try" $2 2>/dev/null
}

version() { # version CFLAGS: "@ (0) (15) (2)", spread over lines, is 0.15.2
    printf '#include <check.h>\n@ CHECK_MAJOR_VERSION.CHECK_MINOR_VERSION.CHECK_MICRO_VERSION\n' |
        $CC $CPPFLAGS $1 -E -P -x c - 2>/dev/null | tr -d '\n() ' | sed 's/.*@//'
}

find_check() {
    work=$(mktemp -d) || return 1
    trap 'rm -rf "$work"' EXIT
    for prefix in '' /opt/homebrew /usr/local; do
        cflags=${prefix:+-I$prefix/include}
        has_header "$cflags" || continue
        for libs in "$(pkg-config --libs check 2>/dev/null)" '-lcheck -lm -lpthread' \
            '-lcheck -lsubunit -lm -lrt -lpthread' '-lcheck_pic -lsubunit -lm -lrt -lpthread'; do
            libs="${prefix:+-L$prefix/lib }$libs"
            if links "$cflags" "$libs"; then
                echo "CHECK_VERSION := $(version "$cflags")"
                echo "CHECK_CFLAGS := $cflags"
                echo "CHECK_LIBS := $libs"
                return 0
            fi
        done
    done
    return 1
}

# ---- install --------------------------------------------------------------------------------

run() {
    if [ "$(id -u)" = 0 ] || [ "$1" = brew ]; then
        set -- "$@"
    elif is_command sudo; then
        set -- sudo "$@"
    else
        say "Check is missing: install the package '$package' (it needs root: $*)"
        exit 1
    fi
    say "Check is missing, installing it: $*"
    "$@"
}

install_check() {
    package=check
    if is_command apt-get; then
        run apt-get install -y check || { run apt-get update && run apt-get install -y check; }
    elif is_command dnf; then
        package=check-devel
        run dnf install -y check-devel
    elif is_command yum; then
        package=check-devel
        run yum install -y check-devel
    elif is_command pacman; then
        run pacman -S --needed --noconfirm check
    elif is_command zypper; then
        package=check-devel
        run zypper --non-interactive install check-devel
    elif is_command apk; then
        package=check-dev
        run apk add check-dev
    elif is_command brew; then
        run brew install check
    else
        say "Check is missing: install the library 'check' (https://libcheck.github.io/check)"
        exit 1
    fi
    find_check >/dev/null || {
        say "Check is still missing: the tests need check.h and libcheck, package '$package'"
        exit 1
    }
}

case $1 in
find) find_check ;;
install) find_check >/dev/null || install_check ;;
*) say "usage: check_library.sh find|install"; exit 2 ;;
esac
