# cli.sh - what the tests of the command line are written with: test_cli*.sh begin with it.
#
# The program under test is $RING_DEMO, or ./ring_demo. Needs a POSIX shell with awk, sed and od;
# no GPU (what depends on one is passed over where there is none).
#
# Each test prints `ok NAME` or `FAIL NAME: why`; finish counts them.
# shellcheck shell=sh

set -u
LC_ALL=C
export LC_ALL
unset NO_COLOR

# A program that hangs shall not hang us.
if [ -z "${CLI_LIMITED-}" ] && timeout --foreground 9 true 2>/dev/null; then
    CLI_LIMITED=1 exec timeout --foreground 300 sh "$0"
fi

demo=${RING_DEMO:-./ring_demo}
case $demo in /*) ;; *) demo=$(pwd)/$demo ;; esac
[ -x "$demo" ] || { echo "FAIL start: no program at $demo"; echo "0 passed, 1 failed"; exit 1; }
top=$(mktemp -d) || exit 1
trap 'rm -rf "$top"' EXIT
trap 'exit 1' INT TERM HUP
mkdir "$top/work" && cd "$top/work" || exit 1 # every test runs here and leaves it as it likes
passed=0
failed=0
problem=

# ---- what tests are written with ---------------------------------------------------------------

# run ARGS..: the program's output in $top/out and $top/err, its status in $status.
run() {
    "$demo" "$@" >"$top/out" 2>"$top/err" </dev/null
    status=$?
}
host() { run --backend host "$@"; }

# Notes what is wrong; a test's first complaint is the one that is shown.
complain() { [ -n "$problem" ] || problem=$1; }

# verdict NAME: ends a test.
verdict() {
    if [ -z "$problem" ]; then
        echo "ok $1"
        passed=$((passed + 1))
    else
        echo "FAIL $1: $problem"
        failed=$((failed + 1))
    fi
    problem=
}

wants_status() {
    [ "$status" = "$1" ] || complain "exit status $status, not $1: $(head -c 300 "$top/err")"
}
wants_line() { # in $top/flat or in FILE: has this text
    grep -qF -e "$1" "${2-$top/flat}" || complain "there is no '$1' in what it prints"
}
flatten() { sed 's/  */ /g; s/^ //; s/ $//' "$top/out" >"$top/flat"; } # columns do not matter
wants_silence() { [ ! -s "$top/err" ] || complain "stderr says '$(head -c 300 "$top/err")'"; }
wants_right() { # the run was good, and says so
    wants_status 0
    wants_silence
    flatten
    [ "$(grep -c -e '^all ranks bit-identical yes' -e '^value right yes' "$top/flat")" = 2 ] ||
        complain "the verdicts are not yes and yes"
}
wants_same() { cmp -s "$1" "$2" || complain "$3"; }
wants_files() { # the work folder holds exactly these
    files=$(ls -A | tr '\n' ' ')
    [ "$files" = "${1:+$1 }" ] || complain "the folder holds '$files', not '$1'"
}

# A refusal: one line on stderr that begins with ring_demo and has TEXT in it, nothing on stdout.
wants_refusal() { # STATUS TEXT
    wants_status "$1"
    [ ! -s "$top/out" ] || complain "writes to stdout: $(head -c 100 "$top/out")"
    {
        IFS= read -r message
        ! IFS= read -r rest || complain "more than one line: $message / $rest"
    } <"$top/err"
    case $message in
    'ring_demo: '*"$2"*) ;;
    *) complain "says '$message', without '$2'" ;;
    esac
}
refused() { # STATUS TEXT ARGS..
    want=$1
    text=$2
    shift 2
    run "$@"
    wants_refusal "$want" "$text"
    verdict "refused: $*"
}
host_refused() {
    want=$1
    text=$2
    shift 2
    refused "$want" "$text" --backend host "$@"
}

clear_folder() { rm -rf "$top/work" && mkdir "$top/work" && cd "$top/work" || exit 1; }

# The last line of each file.
finish() {
    echo "$passed passed, $failed failed"
    [ $failed = 0 ]
}
