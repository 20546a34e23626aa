#!/bin/sh
# test_quiz.sh - the key of a quiz is right, for every kind of run; the dialogue works on a terminal.
#
# The program is $RING_DEMO, or ./ring_demo; simulated GPUs only. The judge (tests/quiz_key.py) needs
# Python 3; without it its part is passed over.

set -u
demo=${RING_DEMO:-./ring_demo}
work=$(mktemp -d "${TMPDIR:-/tmp}/ring_demo_quiz.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
passed=0
failed=0
: >"$work/kinds"

verdict() { # NAME: $work/why is empty where all was well
    if [ -s "$work/why" ]; then
        failed=$((failed + 1))
        echo "FAIL $1: $(tail -1 "$work/why")"
    else
        passed=$((passed + 1))
        echo "ok $1"
    fi
}

sheet() { "$demo" "$@" --backend host --quiz </dev/null; }

# judge STATUS ARGS..: quizzes with three seeds, each against the traces of the same run
judge() {
    want=$1
    shift
    : >"$work/why"
    "$demo" "$@" --backend host --trace=json >"$work/lines" 2>/dev/null
    "$demo" "$@" --backend host --trace >"$work/trace" 2>/dev/null
    for seed in 1 2 3; do
        sheet "$@" --seed $seed >"$work/sheet.$seed" 2>"$work/err"
        status=$?
        [ "$status" = "$want" ] || echo "exit status $status: $(cat "$work/err")" >>"$work/why"
    done
    LC_ALL=C awk 'length > 100 { print "longer than 100 columns: " $0 }' "$work"/sheet.* >>"$work/why"
    "$python" tests/quiz_key.py "$work/lines" "$work/trace" "$work"/sheet.* 2>>"$work/why" \
        >>"$work/kinds"
    verdict "key: $*"
}

if python=$(command -v python3) && "$python" -c 'import json' 2>/dev/null; then
    for n in 2 3 4 5 6 7 8; do
        judge 0 -g $n
        judge 0 -g $n -c $((7 * n + 3)) --pieces 2 --slots 1
        judge 0 -g $n -c $((n - 1))
    done
    judge 0 -g 3 -c 10 --repeat 3
    judge 0 -g 4 -o avg
    judge 0 -g 3 -o avg -d int32 --repeat 2
    judge 0 -g 5 -d bfloat16 --init random:3
    judge 0 -g 4 -d float16 -o avg
    judge 0 -g 4 -o prod -c 13
    judge 0 -g 3 --init values:nan,1,inf
    judge 0 -g 5 --schedule random:3
    judge 0 -g 12 -c 30
    judge 0 -g 17 -c 40
    for bug in $("$demo" bugs | sed -n 's/^\([a-z][a-z-]*\)  .*/\1/p'); do
        set -- -g 4 --bug "$bug" --repeat 2 -c 14
        "$demo" -q --backend host "$@" >/dev/null 2>"$work/err"
        status=$?
        [ $status != 2 ] && ! grep -q 'cannot run' "$work/err" && judge $status "$@"
    done
    judge 1 -g 4 --slots 1 --bug slot-early
    for plan in docs/plans/*.plan; do
        judge 0 --plan "$plan"
    done
    judge 0 overlap --layers 20x64KiB --bucket-cap-mb 0.3125
    judge 0 overlap --layers 20x64KiB --bucket-cap-mb 0.3125 -g 2 --slow rank=1:3
    judge 0 overlap --model mlp --no-overlap -g 3
    judge 0 overlap --model mlp --bucket-cap-mb 0.5 --pieces 2
    judge 0 overlap --model mlp --schedule random:2
    judge 0 overlap --model resnet50 --times-only -g 5
    judge 0 overlap --model mlp -g 1

    : >"$work/why"
    for kind in exposed missing sends holds sum why value receiver; do
        grep -q "$kind:" "$work/kinds" || echo "$kind is never asked" >>"$work/why"
    done
    verdict "every kind of question is asked"
else
    echo "passed over: there is no Python 3"
fi

# Where nothing happens there is nothing to ask.
for arguments in '-g 1' '-g 3 -c 0'; do
    # shellcheck disable=SC2086
    sheet $arguments >"$work/sheet" 2>"$work/why"
    grep -q '^quiz: no questions, since nothing is copied or added' "$work/sheet" ||
        echo "says: $(cat "$work/sheet")" >"$work/why"
    verdict "no questions: $arguments"
done

# The same seed, the same quiz; none, a seed that is told.
sheet -g 4 --seed 5 >"$work/one"
sheet -g 4 --seed 5 >"$work/two"
sheet -g 4 --seed 6 >"$work/other"
cmp "$work/one" "$work/two" >"$work/why" 2>&1
! cmp -s "$work/one" "$work/other" || echo "another seed asks the same" >>"$work/why"
sheet -g 4 >"$work/any"
seed=$(sed -n 's/^quiz: .* --seed \([0-9]*\) asks the same again$/\1/p' "$work/any")
sheet -g 4 --seed "$seed" | cmp - "$work/any" >>"$work/why" 2>&1
verdict "a seed repeats its quiz"

refused() { # TEXT ARGS..
    text=$1
    shift
    : >"$work/why"
    "$demo" "$@" >"$work/out" 2>"$work/err" </dev/null
    [ $? = 2 ] || echo "exit status is not 2" >"$work/why"
    [ ! -s "$work/out" ] || echo "writes to standard output" >"$work/why"
    grep -q -e "$text" "$work/err" || echo "says $(cat "$work/err")" >"$work/why"
    verdict "refused: $*"
}
refused '--seed chooses the questions of --quiz' --seed 3
refused '--seed with --explain' overlap --explain --seed 3
refused '--seed x: a whole number' --quiz --seed x
refused '--quiz with --trace: ' --quiz --trace
refused '--quiz with --trace: ' --quiz --trace=json
refused '--quiz with --step: ' --step --quiz
refused '--quiz with --quiet: ' --quiz -q
refused '--quiz with --explain: ' overlap --quiz --explain
refused '--quiz with --sweep-cap: ' overlap --quiz --sweep-cap 1,5
refused '--quiz with --trace-file: ' --quiz --trace-file f
refused '--quiz is not an option of this command' plan --quiz

# On a terminal, where util-linux's script(1) can pretend one: answers are typed.
if script --version 2>/dev/null | grep -q util-linux &&
    script -qec true /dev/null >/dev/null 2>&1 </dev/null; then
    sheet -g 3 --seed 1 | sed -n '/^key$/,$s/^ *[0-9]*\. //p' >"$work/answers"
    n=$(grep -c . "$work/answers")
    script -qec "'$demo' -g 3 --backend host --quiz --seed 1" /dev/null <"$work/answers" >"$work/out" 2>&1
    : >"$work/why"
    grep -q "score: $n of $n right" "$work/out" || echo "$(grep score "$work/out")" >"$work/why"
    ! grep -q '^key' "$work/out" || echo "a key on a terminal" >"$work/why"
    [ "$n" -ge 8 ] || echo "only $n questions" >"$work/why"
    verdict "the key's answers score all points in a dialogue"
    printf 'nonsense\nq\n' | script -qec "'$demo' overlap --model mlp --backend host --quiz --seed 1" \
        /dev/null >"$work/out" 2>&1
    : >"$work/why"
    grep -q 'score: 0 of 0 right' "$work/out" || echo "no score at q" >"$work/why"
    grep -q 'this is not .*Enter alone passes' "$work/out" || echo "nonsense passes" >"$work/why"
    verdict "q ends a dialogue with its score"
fi

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
