#!/bin/sh
# measure.sh - speed and memory of what needs no GPU. Prints figures; judges none of them: times
# belong to a machine. The best of three runs, wall clock, start of the process included.

set -u
program=${RING_DEMO:-./ring_demo}

now() { date +%s.%N; }

best() { # best COMMAND..: seconds of the fastest of three runs
    least=
    for _ in 1 2 3; do
        begin=$(now)
        "$@" >/dev/null || { echo "failed: $*" >&2; exit 1; }
        end=$(now)
        least=$(awk -v b="$begin" -v e="$end" -v l="${least:-1e9}" \
            'BEGIN { t = e - b; print t < l ? t : l }')
    done
    printf '%s\n' "$least"
}

memory() { # memory COMMAND..: peak KiB, where GNU time is there to tell
    if [ -x /usr/bin/time ]; then
        /usr/bin/time -f %M "$@" 2>&1 >/dev/null | tail -1
    else
        echo '?'
    fi
}

echo "# $(uname -sm), $(getconf _NPROCESSORS_ONLN 2>/dev/null || echo '?') processors; $(date +%Y-%m-%d)"
printf '%-58s %10s %12s\n' command seconds 'peak KiB'
row() {
    printf '%-58s %10s %12s\n' "$*" "$(best "$program" "$@")" "$(memory "$program" "$@")"
}
row --backend host --gpus 4 --trace
row --backend host -g 8 -c 16M -q
for n in 64 128 256 512; do # ops grow as the square of the ranks
    row --backend host -g $n -c $n -q
done
for k in 1 2 4 8; do # ops grow with the repetitions
    row --backend host -g 64 -c 64K --repeat $k -q
done
