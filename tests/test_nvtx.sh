#!/bin/sh
# test_nvtx.sh - what a profiler is told through NVTX. tests/nvtx_inject.c is the profiler: it
# writes down each range that begins and ends. What it wrote is compared with `ring_demo plan`,
# whose ops it must name, each within its step and bucket, and with the words of the trace.
# Needs a build with NVTX; no GPU.

: "${BUILD:=build}"
case $BUILD in /*) ;; *) BUILD=$(pwd)/$BUILD ;; esac
plans=$(pwd)/docs/plans
export BUILD
# shellcheck source=tests/cli.sh
. tests/cli.sh

if "$demo" --version | grep -q '^nvtx: no'; then
    echo "passed over: $("$demo" --version | grep '^nvtx')"
    exit 0
fi

[ -f "$BUILD/nvtx_inject.so" ] || {
    echo "FAIL start: no library at $BUILD/nvtx_inject.so; make compile builds it"
    exit 1
}

# profiled ARGS..: a run whose ranges go to $top/ranges.
profiled() {
    : >"$top/ranges"
    NVTX_INJECTION64_PATH=$BUILD/nvtx_inject.so NVTX_INJECT_FILE=$top/ranges
    export NVTX_INJECTION64_PATH NVTX_INJECT_FILE
    run "$@" --backend host
    unset NVTX_INJECTION64_PATH NVTX_INJECT_FILE
}

# $top/ranges as paths, one for each innermost range: "step s=0 (1 of 4), scatter-reduce | s0.copy.r0".
# In $top/outer the others, one for each time that it began. `open` is how many may be left open.
wants_nesting() { # [OPEN]
    awk -v open="${1:-0}" -v outer="$top/outer" '
        $1 != "ring_demo" { print "domain " $1; exit 1 }
        $2 == "push" {
            if (depth > 0 && leaf)
                print text[depth] >outer
            sub(/^ring_demo push /, "")
            text[++depth] = $0
            leaf = 1
            next
        }
        depth == 0 { print "a range ends that never began"; exit 1 }
        {
            for (i = 1; leaf && i <= depth; i++)
                printf "%s%s", text[i], i < depth ? " | " : "\n"
            leaf = 0
            depth--
        }
        END { if (depth > open + 0) { print depth " ranges never end"; exit 1 } }
    ' "$top/ranges" >"$top/paths" || complain "ranges: $(tail -n 1 "$top/paths")"
}

# The same paths, made of a plan: appended to $top/want. `own`: of a plan that somebody wrote.
expect() { # [OWN]
    awk -v own="${1:-0}" '
        $1 == "ranks" { n = $2 }
        $1 == "iterations" { iterations = $2 }
        $1 !~ /:$/ || $1 ~ /^#/ { next }
        {
            m++
            name[m] = substr($1, 1, length($1) - 1)
            iteration[m] = 0
            bucket[m] = step[m] = -1
            for (i = 2; i < NF; i++) {
                if ($i == "iteration") iteration[m] = $(i + 1)
                if ($i == "bucket") bucket[m] = $(i + 1)
                if ($i == "step") step[m] = $(i + 1)
            }
            if (step[m] >= steps) steps = step[m] + 1
            if (bucket[m] >= buckets) buckets = bucket[m] + 1
        }
        END {
            if (!own) steps = 2 * (n - 1)
            for (k = 1; k <= m; k++) {
                if (bucket[k] >= 0)
                    printf "bucket %d of %d (B%d) | ", bucket[k], buckets, buckets - 1 - bucket[k]
                if (step[k] >= 0) {
                    if (iterations > 1) printf "iteration %d, ", iteration[k]
                    printf "step s=%d (%d of %d)", step[k], step[k] + 1, steps
                    if (!own) printf ", %s", step[k] < n - 1 ? "scatter-reduce" : "all-gather"
                    printf " | "
                }
                print name[k]
            }
        }' "$top/out" >>"$top/want"
}
wants_ops() { # what was expected, in this order, and nothing else
    [ -s "$top/want" ] || complain "nothing is expected"
    cmp -s "$top/want" "$top/paths" ||
        complain "not the plan's ops: $(diff "$top/want" "$top/paths" | head -n 3 | tr '\n' ' ')"
    rm -f "$top/want"
}

# ---- the ring -----------------------------------------------------------------------------------

for args in '-g 4' '-g 2' '-g 3 -c 10 --pieces 2' '-g 3 --op avg' '-g 3 --op avg --dtype int32' \
    '-g 3 --repeat 2' '-g 5 -c 3' '-g 1'; do
    run plan $args
    expect
    profiled $args
    wants_status 0
    if [ "$args" = '-g 1' ]; then
        [ ! -s "$top/ranges" ] || complain "a plan without ops has ranges"
    else
        wants_nesting
        wants_ops
    fi
    verdict "ranges are the plan's ops: $args"
done

run plan -g 3
cp "$top/out" ring.plan
for args in '-g 4' '-g 3 --repeat 2' '--plan ring.plan'; do
    profiled $args
    wants_nesting
    host $args --trace
    grep 'step s=' "$top/out" >"$top/a"
    grep 'step s=' "$top/outer" >"$top/b"
    [ -s "$top/a" ] || complain "the trace has no steps"
    wants_same "$top/a" "$top/b" "steps have other words than in the trace, or not one range each"
    verdict "a step has the trace's words: $args"
done

host -g 4 --trace=json
hash_alone=$(sed -n 's/.*"hash":"\([^"]*\)".*/\1/p' "$top/out")
run plan -g 4
expect
run plan -g 4
expect
profiled -g 4 --trace=json
wants_nesting
wants_ops
[ "$hash_alone" = "$(sed -n 's/.*"hash":"\([^"]*\)".*/\1/p' "$top/out")" ] ||
    complain "a profiler changes the result"
verdict "a trace's two passes have ranges both"

run plan -g 3
expect
echo 'launch of the graph' >>"$top/want"
profiled -g 3 --engine graph
wants_status 0
wants_nesting
wants_ops
verdict "a graph has ranges while it is kept, and one for its launch"

# A plan by hand: other names, steps of its own, it takes turns between two of them, and two
# buckets have the same step.
cat >turns.plan <<'END'
plan 1
ranks 2
count 8
goal broadcast 0
first: copy 0.data[0:2] -> 1.data[0:2] step 0
second: copy 0.data[2:4] -> 1.data[2:4] step 1
third: copy 0.data[4:6] -> 1.data[4:6] step 0
none: copy 0.data[6:7] -> 1.data[6:7]
one: copy 0.data[7:8] -> 1.data[7:8] bucket 0 step 0
two: copy 1.data[7:8] -> 0.data[7:8] bucket 1 step 0 after one arrived
END
cp turns.plan "$top/out"
expect 1
profiled --plan turns.plan
wants_status 0
wants_nesting
wants_ops
[ "$(sed -n 's/.*s=\(.\).*/\1/p' "$top/outer" | tr -d '\n')" = 01000 ] ||
    complain "the steps' ranges are not those of 0, 1, 0, 0 and 0"
verdict "a plan by hand has its own names and steps"
rm turns.plan

# ---- overlap ------------------------------------------------------------------------------------

overlap='--layers 4x1MiB --bucket-cap-mb 2 -g 3 --backward-us 100'
profiled overlap $overlap
wants_status 0
wants_nesting
mv "$top/paths" "$top/both"
run plan $overlap --no-overlap # the rings are queued behind all computes, for which they wait
expect
mv "$top/want" "$top/serial"
head -n "$(grep -c . "$top/serial")" "$top/both" | sort >"$top/paths"
sort "$top/serial" >"$top/want"
wants_ops
run plan $overlap
expect
tail -n +"$(($(grep -c . "$top/serial") + 1))" "$top/both" >"$top/paths"
wants_ops
run overlap $overlap --backend host --trace
sed -n '/^bucket /s/), .*/)/p' "$top/out" >"$top/a"
grep '^bucket ' "$top/outer" | tail -n "$(grep -c . "$top/a")" >"$top/b"
[ "$(grep -c . "$top/a")" = 2 ] || complain "the trace has not two buckets"
wants_same "$top/a" "$top/b" "buckets have other words than in the trace"
verdict "overlap: buckets, steps and ops, of the serial run and the overlapped one"

profiled overlap $overlap --never-ready layer1 --trace
wants_status 1
wants_nesting
sed -n '/^bucket /s/), .*/)/p' "$top/out" | sort >"$top/a"
grep '^bucket ' "$top/outer" | sort -u >"$top/b"
[ -s "$top/b" ] && [ -z "$(comm -13 "$top/a" "$top/b")" ] ||
    complain "'$(head -n 1 "$top/b")' is no bucket of the trace"
verdict "overlap: a bucket that is never launched is counted"

# ---- runs that fail -----------------------------------------------------------------------------

for bug in add-early added-twice peer-read; do
    run plan -g 4 --bug $bug
    expect
    profiled -g 4 --bug $bug
    wants_status 1
    wants_nesting
    wants_ops
    verdict "balanced: --bug $bug"
done

profiled --bug all-receive-first -g 4
wants_status 1
[ ! -s "$top/ranges" ] || complain "a plan that cannot run has ranges"
verdict "no ranges where nothing is run"

NVTX_INJECT_RAISE=200
export NVTX_INJECT_RAISE
profiled bench -g 4 -b 1K -e 64M
wants_status 143
wants_nesting
[ "$(grep -c push "$top/ranges")" -ge 200 ] || complain "nothing was interrupted"
verdict "balanced: bench, stopped while it queues"

NVTX_INJECT_RAISE=5
profiled -g 4
wants_status 143
wants_nesting 2 # the step and its op
[ "$(grep -c push "$top/ranges")" = 5 ] || complain "nothing was interrupted"
verdict "well nested up to the end: the ring, stopped while it queues"
unset NVTX_INJECT_RAISE

CK_RUN_CASE='run: a verb that fails' NVTX_INJECTION64_PATH=$BUILD/nvtx_inject.so
NVTX_INJECT_FILE=$top/ranges
export CK_RUN_CASE NVTX_INJECTION64_PATH NVTX_INJECT_FILE
: >"$top/ranges"
"$BUILD/test_all" >"$top/out" 2>&1
status=$?
unset CK_RUN_CASE NVTX_INJECTION64_PATH NVTX_INJECT_FILE
wants_status 0
wants_nesting
[ "$(grep -c 's1.copy.r2$' "$top/paths")" = 2 ] && ! grep -q 's1.copy.r3' "$top/paths" ||
    complain "not stopped at the seventh copy"
verdict "balanced: a device that fails while ops are queued, eager and graph"

NVTX_INJECTION64_PATH=/nonexistent/library.so
export NVTX_INJECTION64_PATH
host -g 3
unset NVTX_INJECTION64_PATH
wants_right
verdict "a profiler that cannot be opened is none"

finish
