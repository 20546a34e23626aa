#!/bin/sh
# verify_gpus.sh - `make verify-gpus`: tries everything on the GPUs of this machine and writes one
# report of it, in Markdown. Settings, from the environment or behind make:
#
#   GPUS="0 1"      these GPUs alone, by the numbers that `ring_demo doctor` gives them
#   RANKS="4 8"     so many ranks, one number after the other (default: one on each GPU); where they
#                   are more than the GPUs, they share them, in turn
#   SIZES="-b 1K -e 1G"    bench's sizes; also -f -i -n -w -c -d -o
#   REPORT=FILE     (default: verify-gpus.md in the build folder); no device, no pipe
#   BACKEND=host    simulated GPUs, four unless GPUS says otherwise; (default: cuda)
#   PART_SECONDS=900       a part that takes longer is ended, and has failed
#   NCCL_NVLS_ENABLE=1     with NVLink multicast, where the machine allows it; the report says which
#
# Where N is 1 there is no bench --overlap and no bench --fit: a single rank sends nothing. Where
# ranks share GPUs there is no --fit.
# A part that fails does not stop the others. The report is written anew behind each part, so what
# a Ctrl-C or a crash leaves is whole. Exit status: 0 every part passed; 1 one failed; 2 a setting
# is wrong; 3 there is no GPU, or the report could not be written.
# make turns each failure into its own 2; the real status is that of
#
#   BUILD=build tests/verify_gpus.sh        in the folder of ring_demo, with the same settings
#
# shellcheck disable=SC2015 # `A && B || stop`: where either is not so

set -uf # what words are cut from settings are no patterns of files
LC_ALL=C
: "${NCCL_NVLS_ENABLE:=0}" # NVLink multicast: not every machine that has it allows it
export LC_ALL NCCL_NVLS_ENABLE

: "${BUILD:=build}" "${MAKE:=make}" "${BACKEND:=cuda}" "${GPUS:=}" "${RANKS:=}"
: "${SIZES:=-b 1K -e 1G}" "${PART_SECONDS:=900}" "${RING_DEMO:=./ring_demo}"
: "${REPORT:=$BUILD/verify-gpus.md}"

stop() { printf 'verify-gpus: %s\n' "$2" >&2; exit "$1"; } # stop STATUS SENTENCE

# A number, not too large, written in the one way there is.
whole() { case $1 in '' | *[!0-9]* | ?????* | 0?*) return 1 ;; esac; }

check_call() { # what the script was called with
    case ${1-} in
    --help | -h)
        sed -n '1d; /^# shellcheck/q; s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    esac
    [ $# = 0 ] || stop 2 "$1: settings come from the environment, see --help"
    [ "$(cd -- "$(dirname -- "$0")/.." && pwd -P)" = "$(pwd -P)" ] ||
        stop 2 "it is started in the folder of ring_demo, or by make -C FOLDER verify-gpus"
}

check_settings() {
    case $BACKEND in cuda | host) ;; *) stop 2 "BACKEND=$BACKEND: it is cuda or host" ;; esac
    whole "$PART_SECONDS" && [ "$PART_SECONDS" -gt 0 ] ||
        stop 2 "PART_SECONDS=$PART_SECONDS: whole seconds are wanted, from 1 to 9999"
    for n in $RANKS; do
        whole "$n" && [ "$n" -gt 0 ] && [ "$n" -le 4096 ] ||
            stop 2 "RANKS=$RANKS: numbers of ranks are wanted, from 1 to 4096, like 2 or 4 8"
    done
    for word in $SIZES; do
        case $word in
        -[befinwcdo] | --minbytes | --maxbytes | --stepfactor | --stepbytes | [!-]*) ;;
        *) stop 2 "SIZES=$SIZES: $word is no option for sizes; -b, -e, -f or -i are, and -n -w -c -d -o" ;;
        esac
    done
    chosen=
    for gpu in $GPUS; do
        whole "$gpu" || stop 2 "GPUS=$GPUS: GPUs' numbers are wanted, from 0, like 0 or 0 1"
        case " $chosen " in *" $gpu "*) stop 2 "GPUS=$GPUS: $gpu stands there twice" ;; esac
        chosen="$chosen $gpu"
    done
    [ -x "$RING_DEMO" ] || return 0 # then bench itself refuses them, later
    # shellcheck disable=SC2086 # $SIZES is several words
    refusal=$("$RING_DEMO" bench $SIZES --help 2>&1 >/dev/null </dev/null)
    [ $? != 2 ] || stop 2 "SIZES=$SIZES: ${refusal#ring_demo: }"
}

# Sets $report, the file that is written: where REPORT is a symbolic link, what it leads to. Its new
# text is made in $report.part and takes its place, which is for files alone.
check_report() {
    case $REPORT in -*) stop 2 "REPORT=$REPORT: as it begins with -, ./$REPORT is wanted" ;; esac
    report=$REPORT
    [ ! -L "$REPORT" ] || report=$(readlink -f "$REPORT") ||
        stop 2 "REPORT=$REPORT: it is a symbolic link that leads nowhere"
    [ ! -e "$report" ] || [ -f "$report" ] || stop 2 "REPORT=$REPORT: it is there, and is no file"
    [ ! -L "$report.part" ] && { [ ! -e "$report.part" ] || [ -f "$report.part" ]; } ||
        stop 2 "REPORT=$REPORT: $report.part is there, and is no file"
    mkdir -p "$BUILD" 2>/dev/null || stop 2 "BUILD=$BUILD: this folder cannot be made"
    { [ ! -e "$report" ] || [ -w "$report" ]; } && (: >"$report.part") 2>/dev/null &&
        rm "$report.part" || stop 2 "REPORT=$REPORT: it cannot be written"
}

# ---- the report ---------------------------------------------------------------------------------

n_parts=0
n_failed=0
signal=
sharing=
finished=

# Whatever this machine has of it.
machine() {
    echo
    echo '## The machine'
    echo
    echo '```text'
    echo "date      $(date -u '+%Y-%m-%d %H:%M:%S') UTC"
    echo "system    $(uname -srm), $(getconf _NPROCESSORS_ONLN 2>/dev/null || echo '?') processors"
    sed -n 's/^model name[^:]*: */processor /p' /proc/cpuinfo 2>/dev/null | head -n 1
    sed -n 's/^MemTotal: */memory    /p' /proc/meminfo 2>/dev/null
    git log -1 --format='revision  %h, of %cs' 2>/dev/null
    env | sed -nE 's/^(CUDA_(VISIBLE_DEVICES|DEVICE_ORDER)|NCCL_[A-Z_]*)=/setting   &/p' | sort
    "$RING_DEMO" --version
    if [ "$BACKEND" = cuda ] && command -v nvidia-smi >/dev/null; then
        nvidia-smi --query-gpu=index,name,pci.bus_id,driver_version,memory.total --format=csv
        nvidia-smi topo -m | sed "s/$(printf '\033')\[[0-9;]*m//g" # it underlines
    fi 2>&1
    echo '```'
}

verdict() {
    if [ -n "$signal" ]; then
        echo "Interrupted: what follows is what there was until then."
    elif [ -z "$finished" ]; then
        echo "Not finished: parts are missing."
    elif [ "$n_failed" = 0 ]; then
        echo "All $n_parts parts passed."
    else
        echo "$n_failed of $n_parts parts FAILED."
    fi
    echo
    [ "$BACKEND" = cuda ] || echo 'The GPUs are simulated: real data moves, times are modelled.'
    printf '%s' "$sharing"
}

# All of it anew, in one go.
write_report() {
    {
        echo '# ring_demo on this machine'
        echo
        verdict
        echo
        echo '| part | what | exit status | seconds | result |'
        echo '|---|---|---|---|---|'
        cat "$work/rows" "$work/machine" "$work/sections"
    } >"$report.part" && mv -f "$report.part" "$report" || {
        rm -f "$report.part"
        stop 3 "$REPORT could not be written"
    }
}

# ---- parts --------------------------------------------------------------------------------------

now() { date +%s.%N; }

# The words as a shell would want them.
quoted() {
    for word; do
        case $word in
        *[!A-Za-z0-9_./:=,+-]* | '') printf " '%s'" "$word" ;;
        *) printf ' %s' "$word" ;;
        esac
    done | sed 's/^ //'
}

# timeout makes a process group of the part: Check's runner, when it is ended, ends all of its own.
limit=
! timeout -k 5 9 true 2>/dev/null || limit="timeout -k 10 $PART_SECONDS"

# A Ctrl-C does not reach that group, so it is sent another signal.
child=
# shellcheck disable=SC2317 # the traps call it
interrupted() {
    signal=$1
    [ -z "$child" ] || kill -s TERM "$child" 2>/dev/null
}
trap 'interrupted INT' INT
trap 'interrupted TERM' TERM
trap 'interrupted HUP' HUP

# Runs a command in the shell's background, so that a signal is seen at once; sets $status. What it
# prints goes to $work/out.
run_part() { # COMMAND..
    # shellcheck disable=SC2086 # $limit is several words
    $limit "$@" >"$work/out" 2>&1 </dev/null &
    child=$!
    wait "$child"
    status=$?
    while kill -s 0 "$child" 2>/dev/null; do # it was the signal that ended the waiting
        wait "$child"
        status=$?
    done
    child=
}

# part NAME COMMAND..: runs it, unless there was a Ctrl-C, and reports it.
part() {
    [ -z "$signal" ] || return 1
    name=$1
    shift
    n_parts=$((n_parts + 1))
    printf '  %-44s ' "$name"
    begin=$(now)
    run_part "$@"
    seconds=$(awk -v b="$begin" -v e="$(now)" 'BEGIN { printf "%.1f", e - b }')
    result=passed
    [ "$status" = 0 ] || result=FAILED
    [ "$status" = 0 ] || [ "${seconds%.*}" -lt "$PART_SECONDS" ] ||
        result="FAILED: longer than $PART_SECONDS s"
    [ -z "$signal" ] || result=interrupted
    [ "$result" = passed ] || n_failed=$((n_failed + 1))
    printf '%s, %s s\n' "$result" "$seconds"
    echo "| $n_parts | $name | $status | $seconds | $result |" >>"$work/rows"
    {
        # shellcheck disable=SC2016 # fences of Markdown, no command
        printf '\n## %s. %s\n\n```sh\n%s\n```\n\nExit status %s, %s s.\n\n```text\n' \
            "$n_parts" "$name" "$(quoted "$@")" "$status" "$seconds"
        awk 1 "$work/out" # with a newline at its end
        echo '```'
    } >>"$work/sections"
    [ ! -s "$work/machine" ] || write_report
    [ "$result" = passed ]
}

finish() {
    finished=yes
    write_report
    if [ -n "$signal" ]; then
        echo "interrupted; the parts so far are in $REPORT"
        rm -rf "$work"
        trap - EXIT "$signal"
        kill -s "$signal" $$
    fi
    echo "$((n_parts - n_failed)) of $n_parts parts passed; the report is $REPORT"
    [ "$n_failed" = 0 ]
    exit
}

# ---- GPUs and ranks -----------------------------------------------------------------------------

# Sets n_gpus; from here on they are numbered from 0.
choose_gpus() {
    if [ "$BACKEND" = host ]; then
        # shellcheck disable=SC2086 # its words are counted
        set -- ${GPUS:-0 1 2 3}
        n_gpus=$#
        return
    fi
    "$RING_DEMO" doctor >"$work/doctor" 2>&1
    n_gpus=$(sed -n 's/^  GPUs  *\([0-9][0-9]*\)$/\1/p' "$work/doctor")
    [ -n "$n_gpus" ] ||
        stop 3 "there is no GPU:$(sed -n 's/^  GPUs  *none://p' "$work/doctor"); BACKEND=host \
tries everything on simulated ones"
    [ -n "$GPUS" ] || return
    visible=
    for gpu in $GPUS; do
        [ "$gpu" -lt "$n_gpus" ] ||
            stop 2 "GPUS=$GPUS: there is no GPU $gpu, they are numbered from 0 to $((n_gpus - 1))"
        name=$gpu
        [ -z "${CUDA_VISIBLE_DEVICES-}" ] ||
            name=$(echo "$CUDA_VISIBLE_DEVICES" | cut -d , -f $((gpu + 1)))
        visible=$visible,$name
    done
    export CUDA_VISIBLE_DEVICES="${visible#,}"
    # shellcheck disable=SC2086 # its words are counted
    set -- $GPUS
    n_gpus=$#
}

# Which options give N ranks their GPUs; where they share them, bench wants that said.
place() { # N
    if [ "$1" -le "$n_gpus" ]; then
        echo "-g $1"
    else
        seq 0 $(($1 - 1)) | awk -v n="$n_gpus" \
            '{ list = list (NR > 1 ? "," : "") $1 % n } END { print "--devices " list }'
    fi
}

note_sharing() { # RANKS WHAT
    [ "$1" -le "$n_gpus" ] ||
        sharing="$sharing$2 shared $n_gpus GPU$([ "$n_gpus" = 1 ] || echo s), each in turn: the \
times are not those of $1 GPUs.
"
}

# ---- what is tried ------------------------------------------------------------------------------

check_call "$@"
check_settings
check_report
work=$(mktemp -d) || stop 3 'no temporary folder can be made'
trap 'rm -rf "$work"' EXIT
: >"$work/rows"
: >"$work/machine"
: >"$work/sections"

part "build" "$MAKE" --no-print-directory all BUILD="$BUILD" || {
    [ -n "$signal" ] || cat "$work/out" >&2
    finish
}
choose_gpus
machine >"$work/machine"
part "doctor" "$RING_DEMO" doctor

if part "build of the tests" "$MAKE" --no-print-directory compile BUILD="$BUILD"; then
    CK_DEFAULT_TIMEOUT=$PART_SECONDS
    export CK_DEFAULT_TIMEOUT
    if [ "$BACKEND" = cuda ]; then
        part "the CUDA suite" "$BUILD/test_cuda"
    else
        part "the devices' suite" env CK_RUN_SUITE='device: host' "$BUILD/test_all"
    fi
fi

# All exhibits in a table, then one by one those that two ranks do not show.
part "bugs" "$RING_DEMO" bugs --backend "$BACKEND"
exhibits=$(awk '!column { for (i = 1; i <= NF; i++) if ($i == "two") column = i + 1; next }
                $column == "-" { print $1 }' "$work/out")
[ "$BACKEND" = host ] || note_sharing 4 'The four ranks of an exhibit'
for exhibit in ${exhibits:-none-that-needs-three-ranks}; do
    part "bugs $exhibit" "$RING_DEMO" bugs "$exhibit" --backend "$BACKEND"
done

alone='bench --overlap, N = 1'
for n in ${RANKS:-$n_gpus}; do
    [ "$n" != 1 ] || sharing="${sharing}$alone: left out, a single rank sends nothing.
"
    note_sharing "$n" "The ranks of the parts with N = $n"
    placed=$(place "$n")
    # shellcheck disable=SC2086 # $placed and $SIZES are several words
    {
        part "trace, N = $n" "$RING_DEMO" --trace --backend "$BACKEND" $placed
        part "bench, N = $n" "$RING_DEMO" bench --backend "$BACKEND" $placed $SIZES
        [ "$n" = 1 ] && printf '  %-44s left out: a single rank sends nothing\n' "$alone" ||
            part "bench --overlap, N = $n" "$RING_DEMO" bench --overlap --backend "$BACKEND" $placed
        [ "$n" = 1 ] || [ "$n" -gt "$n_gpus" ] ||
            part "bench --fit, N = $n" "$RING_DEMO" bench --backend "$BACKEND" $placed \
                --fit "$work/fit.link" -b 256K -e 256M
    }
done
finish
