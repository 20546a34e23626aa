#!/bin/sh
# test_verify_gpus.sh - `make verify-gpus`, tried on simulated GPUs (BACKEND=host) and, for what
# goes wrong, on a stand-in of the program. No GPU is used.

source=$(pwd)
: "${BUILD:=build}"
case $BUILD in /*) ;; *) BUILD=$(pwd)/$BUILD ;; esac
# shellcheck source=tests/cli.sh
. tests/cli.sh
unset GPUS RANKS PART_SECONDS CUDA_VISIBLE_DEVICES MAKEFLAGS
cd "$source" || exit 1

# What is built is what is tested; nothing is made again.
MAKE=true SIZES='-b 1K -e 64K' BACKEND=host REPORT=$top/report.md RING_DEMO=$demo
export MAKE SIZES BACKEND REPORT RING_DEMO BUILD

# A stand-in for the program: most commands do nothing, well; SICK is what one of them does instead.
mkdir "$top/build"
cat >"$top/stand-in" <<'END'
#!/bin/sh
case "$*" in
doctor) echo "  GPUs       ${FOUND:-none: no such thing}" ;;
"bugs --backend"*) printf 'elem.0 two proof\none - yes yes\nthree yes - yes\n' ;;
"$SICK"*) eval "$SICK_DOES" ;;
esac
END
printf '#!/bin/sh\n' >"$top/build/test_all"
cp "$top/build/test_all" "$top/build/test_cuda"
chmod +x "$top/stand-in" "$top/build/test_all" "$top/build/test_cuda"
stand_in() { RING_DEMO=$top/stand-in BUILD=$top/build; }

verify() { # verify SETTING..: to $top/out, $top/err, $status
    rm -f "$top/report.md"
    timeout 60 env "$@" tests/verify_gpus.sh >"$top/out" 2>"$top/err" </dev/null
    status=$?
}
report_has() { # TEXT: a whole line
    grep -qxF -e "$1" "$top/report.md" || complain "the report has no line '$1'"
}
# The parts of the table, and the sections behind it, are the same ones.
wants_sections() {
    sed -n 's/^| \([0-9]*\) | \(.*\) | [0-9]* | [0-9.]* | .* |$/\1. \2/p' "$top/report.md" \
        >"$top/rows"
    sed -n 's/^## \([0-9]*\. \)/\1/p' "$top/report.md" >"$top/sections"
    [ -s "$top/rows" ] || complain "the table has no rows"
    wants_same "$top/rows" "$top/sections" "the table's parts are not the sections"
}
wants_complaint() { # STATUS TEXT: one line on stderr, and no report
    wants_status "$1"
    [ "$(grep -c '' "$top/err")" = 1 ] && grep -qF -e "$2" "$top/err" ||
        complain "stderr is '$(cat "$top/err")', without '$2'"
    [ ! -e "$top/report.md" ] || complain "there is a report"
}

# ---- simulated GPUs -----------------------------------------------------------------------------

verify
wants_status 0
wants_silence
wants_sections
report_has "All $(grep -c . "$top/rows") parts passed."
report_has "The GPUs are simulated: real data moves, times are modelled."
for part in build doctor "the devices' suite" bugs 'bugs gather-index' 'bugs no-exit-wait' \
    'trace, N = 4' 'bench, N = 4' 'bench --overlap, N = 4' 'bench --fit, N = 4'; do
    grep -qE "^[0-9]+\. $part\$" "$top/rows" || complain "no part '$part'"
done
report_has "$demo bench --backend host -g 4 -b 1K -e 64K"
report_has "step s=0 (1 of 6), scatter-reduce"
report_has "setting   NCCL_NVLS_ENABLE=0"
report_has "$("$demo" --version | head -n 1)"
grep -q '^    65536 .* graph ' "$top/report.md" || complain "no row of bench"
grep -q '^100%: Checks: ' "$top/report.md" || complain "no tests"
[ "$(grep -n '^| part' "$top/report.md" | cut -d : -f 1)" -lt \
    "$(grep -n '^## ' "$top/report.md" | head -n 1 | cut -d : -f 1)" ] ||
    complain "the table is not first"
verdict "every part on simulated GPUs"

stand_in
verify GPUS='0 1' RANKS='2 3'
wants_status 0
wants_sections
report_has "$top/stand-in --trace --backend host -g 2"
report_has "$top/stand-in bench --backend host --devices 0,1,0 -b 1K -e 64K"
report_has "$top/stand-in bench --overlap --backend host --devices 0,1,0"
report_has "The ranks of the parts with N = 3 shared 2 GPUs, each in turn: the times are not \
those of 3 GPUs."
! grep -q 'N = 2 shared' "$top/report.md" || complain "two ranks do not share two GPUs"
! grep -q 'bench --fit, N = 3' "$top/rows" || complain "ranks that share are fitted"
sed -n 's/.* bugs \(.*\)/\1/p' "$top/rows" >"$top/a"
echo three >"$top/b"
wants_same "$top/a" "$top/b" "the exhibits are not those that two ranks do not show"
verdict "GPUS, RANKS and exhibits"

verify RANKS='1 2'
wants_status 0
wants_sections
report_has 'bench --overlap, N = 1: left out, a single rank sends nothing.'
grep -q 'bench --overlap, N = 1 .*left out' "$top/out" || complain "it is left out in silence"
tail -n 4 "$top/rows" | sed 's/^[0-9]*\. //' | tr '\n' ';' >"$top/a"
printf 'trace, N = 2;bench, N = 2;bench --overlap, N = 2;bench --fit, N = 2;' >"$top/b"
wants_same "$top/a" "$top/b" "the last parts are not those of two ranks"
! grep -qE '(overlap|fit), N = 1$' "$top/rows" || complain "one rank is measured where none can be"
verdict "one rank: no bench --overlap, no bench --fit"

verify NCCL_NVLS_ENABLE=1 SIZES='-b 1K -e 1K'
report_has "setting   NCCL_NVLS_ENABLE=1"
verdict "NVLink multicast is off unless it is asked for"

verify SIZES='-b *'
wants_status 0
report_has "$top/stand-in bench --backend host -g 4 -b '*'"
verdict "SIZES names no files"

# ---- what fails ---------------------------------------------------------------------------------

verify SICK=bench SICK_DOES='echo "a wrong sum"; exit 1'
wants_status 1
wants_sections
report_has "3 of 10 parts FAILED."
report_has "a wrong sum"
grep -qE '^\| 8 \| bench, N = 4 \| 1 \| [0-9.]+ \| FAILED \|$' "$top/report.md" ||
    complain "bench is not FAILED"
grep -qE '^\| 9 \| bench --overlap, N = 4 \| 1 \| [0-9.]+ \| FAILED \|$' "$top/report.md" ||
    complain "nothing follows bench"
verdict "a part that fails does not stop the others"

verify PART_SECONDS=1 SICK=--trace SICK_DOES='exec sleep 30'
if timeout -k 5 9 true 2>/dev/null; then
    wants_status 1
    grep -qE '^\| 7 \| .* \| 124 \| [0-9.]+ \| FAILED: longer than 1 s \|$' "$top/report.md" ||
        complain "the report does not say that the trace took too long"
    report_has "1 of 10 parts FAILED."
    verdict "a part that hangs is ended"
fi

# Check's runner passes a TERM on to its whole process group.
verify PART_SECONDS=1 SICK=--trace \
    SICK_DOES='trap "trap : TERM; kill -s TERM 0; exit 1" TERM; sleep 30 & wait'
wants_status 1
wants_sections
report_has "1 of 10 parts FAILED."
grep -qE '^\| 7 \| .* \| FAILED: longer than 1 s \|$' "$top/report.md" ||
    complain "the report does not say that the trace took too long"
verdict "a part that ends its whole process group ends nothing else"

verify MAKE=false
wants_status 1
[ "$(grep -c . "$top/err")" = 0 ] || complain "$(cat "$top/err")"
verdict "a build that fails: nothing follows"

rm -f "$top/report.md" "$top/began" "$top/ended"
SICK_DOES="trap 'touch $top/ended; kill \$!; exit 1' TERM; sleep 30 & touch $top/began; wait"
env SICK=--trace SICK_DOES="$SICK_DOES" tests/verify_gpus.sh >"$top/out" 2>"$top/err" </dev/null &
pid=$!
for _ in $(seq 100); do
    [ -e "$top/began" ] && break
    sleep 0.1
done
cp "$top/report.md" "$top/halfway.md"
kill -s TERM $pid
wait $pid 2>/dev/null
status=$?
wants_status 143
wants_sections
report_has "Interrupted: what follows is what there was until then."
[ "$(tail -n 1 "$top/rows")" = '7. trace, N = 4' ] ||
    complain "the last part is $(tail -n 1 "$top/rows")"
grep -qE '^\| 7 \| .* \| interrupted \|$' "$top/report.md" || complain "the trace is not interrupted"
grep -qxF 'Not finished: parts are missing.' "$top/halfway.md" &&
    grep -q '^## 6. bugs three' "$top/halfway.md" || complain "until then there is no report"
[ -e "$top/ended" ] || complain "the part that ran goes on"
verdict "stopped halfway: the parts so far are there"

# ---- where there is nothing to try --------------------------------------------------------------

verify BACKEND=cuda
wants_complaint 3 'there is no GPU: no such thing; BACKEND=host'
verdict "no GPU: one line, and status 3"

visible='echo "visible: $CUDA_VISIBLE_DEVICES"'
verify BACKEND=cuda FOUND=2 SICK=--trace SICK_DOES="$visible" GPUS=1 RANKS=2
wants_status 0
report_has 'visible: 1'
report_has "$top/stand-in --trace --backend cuda --devices 0,0"
report_has "The four ranks of an exhibit shared 1 GPU, each in turn: the times are not those of 4 GPUs."
verify BACKEND=cuda FOUND=2 SICK=--trace SICK_DOES="$visible" \
    GPUS='1 0' CUDA_VISIBLE_DEVICES=5,GPU-abc
wants_status 0
report_has 'visible: GPU-abc,5'
report_has "$top/stand-in --trace --backend cuda -g 2"
verify BACKEND=cuda FOUND=2 GPUS='0 2'
wants_complaint 2 'there is no GPU 2, they are numbered from 0 to 1'
verdict "GPUS are those that doctor numbers"

while IFS='|' read -r setting text; do
    verify "$setting"
    wants_complaint 2 "$text"
    verdict "refused: $setting"
done <<'END'
BACKEND=auto|BACKEND=auto: it is cuda or host
RANKS=0|RANKS=0: numbers of ranks
RANKS=2,4|RANKS=2,4: numbers of ranks
GPUS=a|GPUS=a: GPUs' numbers
GPUS=0 1 0|0 stands there twice
RANKS=08|RANKS=08: numbers of ranks
RANKS=4097|RANKS=4097: numbers of ranks
GPUS=0 00|GPUS=0 00: GPUs' numbers
PART_SECONDS=0|PART_SECONDS=0: whole seconds
REPORT=/nonexistent/report.md|REPORT=/nonexistent/report.md: it cannot be written
END

verify RING_DEMO="$demo" SIZES='-b few'
wants_complaint 2 "SIZES=-b few: -b few: bytes are wanted"
[ ! -s "$top/out" ] || complain "a part ran: $(cat "$top/out")"
verdict "refused: SIZES=-b few"
for words in '-g 3 -e 1K' --version '-e 1K --json x.json'; do
    verify SIZES="$words"
    wants_complaint 2 "is no option for sizes"
    verdict "refused: SIZES=$words"
done

# ---- how it is called ---------------------------------------------------------------------------

called() { # FOLDER ARGS..
    (cd "$1" && shift && BUILD=build timeout 60 "$source/tests/verify_gpus.sh" "$@") \
        >"$top/out" 2>"$top/err"
    status=$?
}
called "$top/work" --help
wants_status 0
wants_silence
wants_line 'PART_SECONDS=900' "$top/out"
! grep -q '^#\|shellcheck\|set -u' "$top/out" || complain "--help prints more than the head"
called "$source" --fast
wants_complaint 2 '--fast: settings come from the environment'
called "$top/work"
wants_complaint 2 'it is started in the folder of ring_demo'
[ ! -e "$top/work/build" ] || complain "it leaves a folder"
verdict "--help, other arguments, another folder"

# ---- where the report goes ----------------------------------------------------------------------

# What is no file stays what it is, and no part runs.
mkfifo "$top/pipe"
ln -s "$top/pipe" "$top/to-pipe"
mkdir "$top/folder" "$top/taken.part"
ln -s "$top/nowhere/report" "$top/astray"
: >"$top/after"
while IFS='|' read -r name text; do
    ls -A "$top" . >"$top/before"
    verify REPORT="$name"
    wants_complaint 2 "REPORT=$name: $text"
    ls -A "$top" . >"$top/after"
    wants_same "$top/before" "$top/after" "something was made, or is gone"
    [ ! -s "$top/out" ] || complain "a part ran: $(cat "$top/out")"
    verdict "refused: a report in ${name#"$top/"}"
done <<END
$top/pipe|it is there, and is no file
$top/to-pipe|it is there, and is no file
$top/folder|it is there, and is no file
$top/taken|$top/taken.part is there, and is no file
$top/astray|it is a symbolic link that leads nowhere
-x|as it begins with -, ./-x is wanted
END
[ -p "$top/pipe" ] || complain "the pipe is none any more"
verdict "a pipe is not replaced"

for old in 'an older report' ''; do
    rm -f "$top/report.md" "$top/target" "$top/link"
    [ -z "$old" ] || echo "$old" >"$top/target"
    ln -s target "$top/link"
    verify REPORT="$top/link"
    wants_status 0
    [ -L "$top/link" ] || complain "the link is none any more"
    grep -q '^All .* parts passed' "$top/target" || complain "what it leads to is not the report"
    verdict "a symbolic link is followed to ${old:-nothing yet}"
done

if command -v shellcheck >/dev/null; then
    shellcheck tests/verify_gpus.sh >"$top/out" || complain "$(head -n 5 "$top/out")"
    verdict "shellcheck finds nothing"
fi

finish
