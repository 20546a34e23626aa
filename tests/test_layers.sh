#!/bin/sh
# test_layers.sh - the arrows of the source tree: overlap -> ring -> common, never back, and the
# plan, its proofs and its writers know no device. Run from the top of the tree.

failed=0

# forbid WHAT PATTERN FILES..: no line of the files may match; missing files are left out.
forbid() {
    what=$1
    pattern=$2
    shift 2
    n=0
    for file; do
        shift
        [ -f "$file" ] || continue
        set -- "$@" "$file"
        n=$((n + 1))
    done
    if [ $n -gt 0 ] && grep -nE "$pattern" /dev/null "$@"; then
        echo "FAILED: $what"
        failed=1
    else
        echo "ok $what ($n files)"
    fi
}

include='^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]'

forbid "common/ includes nothing from ring/ or overlap/" \
    "$include(\.\./)*(ring|overlap)/" common/*.*

for file in ring/*.[ch]; do # the front door alone sees all
    [ "$file" = ring/ring_demo.c ] || set -- "$@" "$file"
done
forbid "ring/ includes nothing from overlap/" "${include}(\.\./)*overlap/" "$@"

forbid "plan, proofs and writers include no device header" "$include([^>\"]*/)?(device|cuda)" \
    ring/plan*.[ch] ring/ring.[ch] ring/check*.[ch] ring/order*.[ch] ring/contents*.[ch] \
    ring/extents*.[ch] ring/goal*.[ch] ring/findings*.[ch] ring/holds*.[ch] ring/bugs*.[ch] ring/trace*.[ch] \
    ring/quiz*.[ch] \
    overlap/bucket*.[ch] overlap/model*.[ch] overlap/overlap.[ch] overlap/timeline*.[ch] \
    overlap/training*.[ch]

set --
for file in common/*.[ch] common/*.cu ring/*.[ch] overlap/*.[ch] tests/*.[ch]; do
    [ "$file" = common/device.c ] || set -- "$@" "$file"
done
forbid "HAVE_CUDA is asked for in common/device.c alone" \
    '^[[:space:]]*#.*HAVE_CUDA' "$@"

# The same through headers: what the compiler sees of such a file names no device header.
for file in ring/plan*.c ring/ring.c ring/check*.c ring/order*.c ring/contents*.c ring/extents*.c \
            ring/holds*.c ring/trace*.c ring/quiz*.c overlap/bucket*.c overlap/training.c; do
    [ -f "$file" ] || continue
    if ${CC:-cc} -I. -D_POSIX_C_SOURCE=200809L -MM "$file" | grep -E '(device|cuda)[a-z_]*\.h'; then
        echo "FAILED: $file sees a device header"
        failed=1
    fi
done
[ $failed = 0 ] && echo "ok nor do they see one through other headers"

if LC_ALL=C awk 'length($0) > 100 { print FILENAME ":" FNR; bad = 1 } END { exit bad }' \
    common/*.[ch] common/*.cu ring/*.[ch] overlap/*.[ch] tests/*.[ch]; then
    echo "ok no line of C is longer than 100 columns"
else
    echo "FAILED: lines longer than 100 columns"
    failed=1
fi

exit $failed
