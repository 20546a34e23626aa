#!/bin/sh
# test_docs.sh - what the docs show is what the program prints.
#
# Every line `$ ./ring_demo ..` (and `$ cat docs/..`) in a ```console block of README.md and docs/*.md is run, and the
# lines below it are compared with its output; a line [...] stands for any lines. The files of
# docs/samples/ are such a command and all of its output; `test_docs.sh update` writes them anew, and
# those outputs of the pages in which nothing is left out.
# No GPU takes part, so that the output is the same everywhere.

set -u
program=${RING_DEMO:-./ring_demo}
case $program in /*) ;; *) program=$PWD/${program#./} ;; esac
work=$(mktemp -d "${TMPDIR:-/tmp}/ring_demo_docs.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" && ln -s "$program" "$work/bin/ring_demo"
export CUDA_VISIBLE_DEVICES=
passed=0
failed=0

# run COMMAND: as in the docs, from a folder where ./ring_demo is the program and docs/ is ours.
ln -s "$PWD/docs" "$work/bin/docs"
run() { (cd "$work/bin" && sh -c "$1") >"$work/got" 2>&1; }

# Compares the lines of $2 with those of $1, in which [...] stands for any.
matches() {
    awk -v got="$2" '
        { want[n++] = $0 }
        END {
            while ((getline line < got) > 0) have[m++] = line
            j = 0; skip = 0
            for (i = 0; i < n; i++) {
                if (want[i] == "[...]") { skip = 1; continue }
                if (skip) while (j < m && have[j] != want[i]) j++
                if (j >= m || have[j] != want[i]) {
                    printf "  want: %s\n  got:  %s\n", want[i], j < m ? have[j] : "(the end)"
                    exit 1
                }
                j++; skip = 0
            }
            if (!skip && j < m) { printf "  more than wanted: %s\n", have[j]; exit 1 }
        }' "$1"
}

judge() { # judge WHERE COMMAND WANTED-FILE
    run "$2"
    if difference=$(matches "$3" "$work/got"); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAIL %s: %s\n%s\n' "$1" "$2" "$difference"
    fi
}

# Prints a page with the outputs in its ```console blocks as they are now, but for those in which
# lines are left out.
fill() { # PAGE
    awk -v folder="$work/bin" '
        function is_ours(i,   j) { # may the output of the command in line i be written anew?
            for (j = i + 1; j < n && block[j] !~ /^\$ /; j++)
                if (block[j] == "[...]") return 0
            return block[i] ~ /ring_demo|docs\//
        }
        function print_output(command,   line) {
            gsub(/\047/, "\047\\\047\047", command)
            command = "cd " folder " && sh -c \047" command "\047 2>&1"
            while ((command | getline line) > 0) print line
            close(command)
        }
        function print_block(   i, ours) {
            for (i = 0; i < n; i++) {
                if (block[i] ~ /^\$ /) {
                    print block[i]
                    if ((ours = is_ours(i))) print_output(substr(block[i], 3))
                } else if (!ours) print block[i]
            }
        }
        $0 == "```console" { print; inside = 1; n = 0; next }
        inside && /^```/ { print_block(); inside = 0 }
        inside { block[n++] = $0; next }
        { print }' "$1"
}

if [ "${1:-}" = update ]; then
    for page in README.md docs/*.md; do
        fill "$page" >"$work/page" && cat "$work/page" >"$page"
    done
    RING_DEMO=$program tests/man_page.sh >"$work/man" && cat "$work/man" >docs/ring_demo.1
    for sample in docs/samples/*.txt; do
        command=$(sed -n '1s/^\$ //p' "$sample")
        run "$command"
        { printf '$ %s\n' "$command"; cat "$work/got"; } >"$sample"
        echo "$sample: $command"
    done
    exit 0
fi

# The man page tells of the commands, options and examples that --help tells of.
RING_DEMO=$program tests/man_page.sh >"$work/want"
if difference=$(diff docs/ring_demo.1 "$work/want"); then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    printf 'FAIL docs/ring_demo.1: make samples writes it anew\n%s\n' "$difference"
fi
if command -v groff >/dev/null && groff -man -ww -Tutf8 -z docs/ring_demo.1 2>&1 | grep .; then
    failed=$((failed + 1))
    echo 'FAIL docs/ring_demo.1: groff complains'
fi

for sample in docs/samples/*.txt; do
    [ -f "$sample" ] || continue
    sed 1d "$sample" >"$work/want"
    judge "$sample" "$(sed -n '1s/^\$ //p' "$sample")" "$work/want"
done

for page in README.md docs/*.md; do
    [ -f "$page" ] || continue
    rm -f "$work"/block.*
    awk -v work="$work" '
        /^```/ { inside = ($0 == "```console"); file = ""; next }
        inside && /^\$ / {
            file = sprintf("%s/block.%03d", work, n++)
            print substr($0, 3) > (file ".command")
            printf "" > (file ".want")
            next
        }
        inside && file != "" { print > (file ".want") }' "$page"
    for command in "$work"/block.*.command; do
        [ -f "$command" ] || continue
        case $(cat "$command") in # tools that need not be there
        *'| jq '*) command -v jq >/dev/null || continue ;;
        *'| python3 '*) command -v python3 >/dev/null || continue ;;
        esac
        case $(cat "$command") in
        *ring_demo* | *' docs/'*) judge "$page" "$(cat "$command")" "${command%.command}.want" ;;
        esac
    done
done

# A translation shows the same commands in the same order; what they print is compared above.
for page in docs/*.zh-CN.md; do
    own=$(basename "$page" .zh-CN.md).md
    [ -f "docs/$own" ] && own=docs/$own
    grep '^\$ ' "$own" >"$work/want"
    if difference=$(grep '^\$ ' "$page" | diff "$work/want" -); then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAIL %s: other commands than in %s\n%s\n' "$page" "$own" "$difference"
    fi
done

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
