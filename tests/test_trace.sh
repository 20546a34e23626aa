#!/bin/sh
# test_trace.sh - traces for programs are as docs/trace-format.md says, for every kind of run.
#
# The program is $RING_DEMO, or ./ring_demo; simulated GPUs only. Needs Python 3; without it
# everything here is passed over.

set -u
demo=${RING_DEMO:-./ring_demo}
python=$(command -v python3) && "$python" -c 'import json' 2>/dev/null ||
    { echo "passed over: there is no Python 3"; exit 0; }
work=$(mktemp -d "${TMPDIR:-/tmp}/ring_demo_trace.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
passed=0
failed=0
: >"$work/used"

verdict() { # NAME: $work/why is empty where all was well
    if [ -s "$work/why" ]; then
        failed=$((failed + 1))
        echo "FAIL $1: $(tail -1 "$work/why")"
    else
        passed=$((passed + 1))
        echo "ok $1"
    fi
}

trace() { # STATUS ARGS..
    want=$1
    shift
    "$demo" "$@" --backend host --trace=json >"$work/out" 2>"$work/err"
    status=$?
    "$python" tests/trace_format.py docs/trace-format.md "$@" <"$work/out" 2>"$work/why" >>"$work/used" ||
        [ -s "$work/why" ] || echo "the validator failed" >"$work/why"
    [ "$status" = "$want" ] || echo "exit status $status: $(cat "$work/err")" >"$work/why"
    verdict "json: $*"
}

perfetto() { # STATUS ARGS..
    want=$1
    shift
    "$demo" "$@" --backend host --trace=json >"$work/lines" 2>/dev/null
    rm -f "$work/out"
    "$demo" "$@" --backend host --trace=perfetto --trace-file "$work/out" >"$work/report" 2>"$work/err"
    status=$?
    "$python" tests/trace_perfetto.py "$work/lines" <"$work/out" 2>"$work/why"
    [ "$status" = "$want" ] || echo "exit status $status: $(cat "$work/err")" >"$work/why"
    grep -q '^ring_demo: note: .*simulated' "$work/err" || echo "no notice on stderr" >"$work/why"
    grep -q 'hash of the result\|moves no data\|never ends' "$work/report" || echo "no report beside it" >"$work/why"
    verdict "perfetto: $*"
}

# The page holds the JSON lines as they are, and nothing in them can end their place in it.
page() { # STATUS ARGS..
    want=$1
    shift
    : >"$work/why"
    "$demo" "$@" --backend host --trace=json >"$work/lines" 2>/dev/null
    rm -f "$work/out"
    "$demo" "$@" --backend host --trace=html --trace-file "$work/out" >"$work/report" 2>"$work/err"
    status=$?
    sed -n '/ id="run">$/,/^<\/script>$/p' "$work/out" | sed '1d;$d' | cmp - "$work/lines" >"$work/why" 2>&1
    ! grep -q '<' "$work/lines" || echo "a line holds <" >"$work/why"
    [ "$status" = "$want" ] || echo "exit status $status: $(cat "$work/err")" >"$work/why"
    grep -q '^ring_demo: note: .*simulated' "$work/err" || echo "no notice on stderr" >"$work/why"
    grep -q 'hash of the result\|moves no data\|never ends' "$work/report" || echo "no report beside it" >"$work/why"
    verdict "html: $*"
}

# The kinds of runs.
each_kind() { # COMMAND: is given the exit status and the arguments
    "$1" 0 -g 4
    "$1" 0 -g 2
    "$1" 0 -g 1
    "$1" 0 -g 1 --repeat 3 -c 5
    "$1" 0 -g 4 -c 0
    "$1" 0 -g 3 -c 10
    "$1" 0 -g 5 -c 2
    "$1" 0 -g 4 --pieces 3 --repeat 2
    "$1" 0 -g 3 -o avg -d int32
    "$1" 0 -g 3 -d bfloat16
    "$1" 0 -g 2 -d float16 --init values:40000,40000
    "$1" 0 -g 3 -o avg
    "$1" 0 -g 3 --init values:nan,inf,-inf
    "$1" 0 -g 4 --schedule random:3
    "$1" 0 -g 3 --schedule search:2
    "$1" 0 -g 4 --devices 0,1,0,1
    "$1" 0 -g 4 --slow link=0-1:4
    "$1" 0 -g 4 -c 4 --link 1000000:0 --repeat 2 # copies that take no time
    "$1" 0 -g 3 --delay s0.copy.r0:50
    "$1" 0 -g 17
    for bug in gather-index slot-early added-twice event-early remainder peer-read no-exit-wait; do
        "$1" 1 -g 4 --bug $bug --repeat 2 -c 10
    done
    "$1" 1 -g 4 --bug slot-early --schedule random:1
    for plan in docs/plans/*.plan; do
        "$1" 0 --plan "$plan"
    done
    "$1" 0 overlap --model mlp
    "$1" 0 overlap --model mlp -g 1
    "$1" 0 overlap --model mlp --no-overlap
    "$1" 0 overlap --model mlp --slow rank=1:3 -g 3
    "$1" 1 overlap --model mlp --never-ready linear_relu_stack.2.bias
    "$1" 0 overlap --model mlp --slow link=0-1:3 --pieces 2
    "$1" 0 overlap --model mlp --schedule random:2
    "$1" 0 overlap --model gpt2 -g 8 --times-only
}
each_kind trace
each_kind perfetto
each_kind page

for kind in perfetto html; do
"$demo" -g 2 --backend host --trace=$kind >"$work/piped" 2>/dev/null
"$demo" -g 2 --backend host --trace=$kind --trace-file "$work/out" >/dev/null 2>&1
cmp "$work/piped" "$work/out" >"$work/why" 2>&1
verdict "$kind: the same through a pipe"
"$python" - "$demo" $kind >"$work/why" 2>&1 <<'END'
import os, pty, subprocess, sys
own, terminal = pty.openpty()
done = subprocess.run([sys.argv[1], "-g", "2", "--backend", "host",
                       "--trace=" + sys.argv[2]],
                      stdin=subprocess.DEVNULL, stdout=terminal, stderr=subprocess.PIPE, text=True,
                      timeout=20)
if done.returncode != 2 or "--trace-file FILE" not in done.stderr or done.stderr.count("\n") != 1:
    print(done.returncode, done.stderr)
END
verdict "$kind: refused on a terminal"
"$demo" -g 2 --backend host --trace=$kind --trace-file "$work/nowhere/t" >/dev/null 2>"$work/err"
[ $? = 2 ] && grep -q nowhere/t "$work/err" && [ ! -e "$work/nowhere" ]
[ $? = 0 ] && : >"$work/why" || cp "$work/err" "$work/why"
verdict "$kind: a folder that is not there"
done

# With a slow link ranks are in different steps at the same time; and still a link carries one copy
# at a time, since a rank's copies share one lane.
"$demo" -g 4 --backend host --slow link=0-1:4 --trace=json 2>/dev/null | "$python" -c '
import json, sys
copies = [op for op in map(json.loads, sys.stdin) if op.get("kind") == "copy"]
apart, links = 0, {}
for a in copies:
    for b in copies:
        together = a["begin_us"] < b["end_us"] and b["begin_us"] < a["end_us"]
        apart = max(apart, together and b["step"] - a["step"])
        link = (a["src"]["rank"], a["dst"]["rank"])
        if a["id"] < b["id"] and together and link == (b["src"]["rank"], b["dst"]["rank"]):
            sys.exit("%s and %s are on one link at once" % (a["name"], b["name"]))
if apart < 1: sys.exit("all ranks are in the same step")
' 2>"$work/why" || [ -s "$work/why" ] || echo "the validator failed" >"$work/why"
verdict "a slow link: ranks in different steps, one copy a link at a time"

# Every key that is documented was seen in some run, so that none is dead.
sed -n 's/^### \([a-z]*\)$/\1/p; s/^| `\([a-zA-Z0-9_]*\)` .*/ \1/p' docs/trace-format.md |
    awk '/^ / { print object, $1; next } { object = $1 }' | sort -u >"$work/documented"
sort -u "$work/used" | comm -13 - "$work/documented" | tr '\n' ',' >"$work/why"
verdict "json: every documented key is seen"

echo "$passed passed, $failed failed"
[ $failed = 0 ]
