#!/bin/sh
# test_cli.sh - ring_demo as its user meets it: arguments, messages, exit statuses and files. If
# there is a Python it reads the JSON lines, too. (cli.sh: what it is written with)
# shellcheck source=tests/cli.sh
. "$(dirname "$0")/cli.sh"

# ---- .npy files, byte by byte ------------------------------------------------------------------

# npy_raw FILE MAJOR HEADER BYTES: BYTES as \0ooo for printf's %b; the data begin at 64 or 128.
npy_raw() {
    width=$([ "$2" = 1 ] && echo 2 || echo 4)
    start=$(((8 + width + ${#3} + 1 + 63) / 64 * 64))
    length=$((start - 8 - width))
    {
        printf '\223NUMPY%b\000' "\\0$2"
        printf '%b%b' "\\0$(printf %o $((length % 256)))" "\\0$(printf %o $((length / 256)))"
        [ "$width" = 2 ] || printf '\000\000'
        printf "%-$((length - 1))s\n" "$3"
        printf '%b' "$4"
    } >"$1"
}
# npy FILE DESCR SHAPE BYTES
npy() { npy_raw "$1" 1 "{'descr': '$2', 'fortran_order': False, 'shape': $3, }" "$4"; }

# hex WORDS..: 8cb80cc1 as \0214\0270\014\0301
hex() {
    echo "$*" | awk '{
        for (i = 1; i <= length($0); i++) {
            digit = index("0123456789abcdef", substr($0, i, 1)) - 1
            if (digit < 0) continue
            if (half++ % 2) printf "\\0%o", high * 16 + digit
            high = digit
        }
    }'
}

# pattern TYPE RANKS RANK COUNT: values that look random and whose sums are exact; RANK sum is
# the sum over all ranks.
pattern() {
    awk -v type="$1" -v ranks="$2" -v rank="$3" -v count="$4" '
    function put_bytes(value, n) {
        for (; n > 0; n--) { printf "\\0%o", value % 256; value = int(value / 256) }
    }
    function put(x, sign, e) {
        if (type == "<i4") { put_bytes(x < 0 ? x + 4294967296 : x, 4); return }
        if (x == 0) { put_bytes(0, type == "<f4" ? 4 : 8); return }
        sign = x < 0; if (sign) x = -x
        for (e = 0; x >= 2; e++) x /= 2
        for (; x < 1; e--) x *= 2
        if (type == "<f4")
            put_bytes(sign * 2147483648 + (e + 127) * 8388608 + (x - 1) * 8388608, 4)
        else {
            x = (x - 1) * 1048576
            put_bytes((x - int(x)) * 4294967296, 4)
            put_bytes(sign * 2147483648 + (e + 1023) * 1048576 + int(x), 4)
        }
    }
    function value(r, i,   x) {
        x = (i * 7919 + r * 104729 + 12345) % 8191 * 37 % 8191 - 4000
        return type == "<i4" ? x : x / 64
    }
    BEGIN {
        for (i = 0; i < count; i++) {
            x = 0
            for (r = 0; r < ranks; r++) if (rank == "sum" || r == rank) x += value(r, i)
            put(x)
        }
    }'
}

# three TYPE SHAPE COUNT: g-0.npy, g-1.npy, g-2.npy of such values
three() {
    for r in 0 1 2; do npy g-$r.npy "$1" "$2" "$(pattern "$1" 3 $r "$3")"; done
}

# ---- numbers and names that are refused ---------------------------------------------------------

for number in 0 -1 -99999999999999999999 99999999999999999999 4294967300 4x 4.0 +4 0x4 1e1 1K ' 4' \
    '4 ' '' nan; do
    host_refused 2 "--gpus $number" --gpus "$number"
done
for number in -1 99999999999999999999 18446744073709551620 576460752303423488 5T 5KK K 1.5 -5K 5GG \
    9000000000G 1e3 ''; do
    host_refused 2 "--count $number" -c "$number"
done
for option in pieces slots repeat; do
    for number in 0 -3 99999999999999999999 4294967297 2x 1K ''; do
        host_refused 2 "--$option $number" --$option "$number"
    done
done
for list in '' ',' '0,' ',0' '0,,1' a 0,b -1 0,-1 0:1 0,1.5 ' ' \
    99999999999999999999 0,18446744073709551616; do
    host_refused 2 "--devices $list" --devices "$list"
done
host_refused 3 "no device 999999" --devices 0,999999
host_refused 2 "--devices 0,1 names 2 devices for 4 ranks" --devices 0,1 -g 4
host_refused 2 "--devices 0,1,2 names 3 devices for 2 ranks" -g 2 --devices 0,1,2
for word in tpu '' HOST hosts; do refused 2 "--backend $word" --backend "$word"; done
for word in float uint8 '' float3 float322; do host_refused 2 "--dtype $word" -d "$word"; done
for word in xor '' mean summ; do host_refused 2 "--op $word" -o "$word"; done
for word in HTML '' JSON jsonl; do host_refused 2 "--trace=$word" --trace="$word"; done
for word in green '' yes; do host_refused 2 "--color $word" --color "$word"; done
for word in fifo random random: random:x random:-1 random:1.5 '' random:99999999999999999999; do
    host_refused 2 "--schedule $word" --schedule "$word"
done
host_refused 2 "--engine kernels: eager, graph, kernel or auto is wanted" --engine kernels
for word in warp '' 0:1 1 1: :1 nan:1 1:nan inf:1 -1:1 1:-1 1:1:1 1:1x; do
    host_refused 2 "--link $word" --link "$word"
done
for word in on '' of; do host_refused 2 "--p2p $word" --p2p "$word"; done
for word in 0 -1 x 99999999999 ''; do host_refused 2 "--timeout $word" --timeout "$word"; done
host_refused 2 "--p2p" --p2p off
host_refused 2 "--timeout" --timeout 5

for word in zebra '' random random: random:-1 random:x values indexes ones:1; do
    host_refused 2 "--init $word" --init "$word"
done
host_refused 2 "entry 1, ''" --init values:
host_refused 2 "entry 2, 'a'" --init values:1,a
host_refused 2 "entry 2, ''" --init values:1,,2
host_refused 2 "entry 1, '1e400', is too large" --init values:1e400
host_refused 2 "entry 1, '1e39', is too large for float32" --init values:1e39
host_refused 2 "entry 1, '65520', is too large for float16" -d float16 --init values:65520
host_refused 2 "a .npy file cannot hold bfloat16" -d bfloat16 --output 'out-%r.npy'
host_refused 2 "entry 2, '1.5', is no whole number" -d int32 --init values:1,1.5
host_refused 2 "entry 1, '3000000000', is too large" -d int32 --init values:3000000000
host_refused 2 "entry 1, 'nan'" -d int32 --init values:nan

refused 2 "unknown command 'rings'" rings
refused 2 "unknown command ''" ''
refused 2 "unexpected argument 'extra'" ring extra
refused 2 "unexpected argument 'extra'" plan extra
refused 2 "unexpected argument 'extra'" doctor extra
refused 2 "unexpected argument 'b'" check a b
refused 2 "check needs a file" check
refused 2 "unexpected argument 'plan'" -g 4 plan
refused 2 "unknown option '--gpu-count'" --gpu-count 4
refused 2 "unknown option '-z'" -z
refused 2 "'-qz'" -qz
refused 2 "--quiet takes no argument" --quiet=3
refused 2 "--step takes no argument" --step=3
for option in gpus devices backend count dtype op pieces slots repeat init input output trace-file \
    schedule link p2p timeout color; do
    refused 2 "--$option needs an argument" --$option
done
for letter in g c d o; do refused 2 "needs an argument" -$letter; done
for option in --devices=0 --init=ones --trace --step --link=1:1 -q; do
    refused 2 "is not an option of this command" plan "$option"
    refused 2 "is not an option of this command" check "$option" p
    refused 2 "is not an option of this command" doctor "$option"
done
refused 2 "--gpus is not an option of this command" check -g 4 p
refused 2 "--gpus is not an option of this command" doctor -g 4
host_refused 2 "--step" --step
host_refused 2 "--step" --step --trace=json
host_refused 2 576460752303423487 -c 576460752303423487
for shape in '-c 16384G' '-g 1 -c 65536G' '-c 16384G --trace' '-d float64 -c 8192G'; do
    # shellcheck disable=SC2086
    host_refused 3 "of memory" $shape
done
run -q "$(printf 'two\nlines\033[31m')"
wants_refusal 2 'two\x0alines\x1b'
verdict "a word with newlines and escapes stays on one line"
long=$(awk 'BEGIN { for (i = 0; i < 5000; i++) printf "x" }')
run "$long"
wants_refusal 2 'xxx'
[ ${#message} -lt 600 ] || complain "the message has ${#message} characters"
verdict "a very long word gives a short message"

# ---- help, version, doctor ----------------------------------------------------------------------

for words in --help -h 'ring --help' 'overlap --help' 'bench --help' 'plan --help' 'check -h' 'bugs --help' \
    'doctor --help' '-g 4 --help'; do
    # shellcheck disable=SC2086
    run $words
    wants_status 0
    wants_silence
    wants_line '--help' "$top/out"
    awk 'length > 79 { exit 1 }' "$top/out" || complain "wider than 80 columns"
    [ "$(grep -c . "$top/out")" -le 50 ] || complain "longer than 50 lines"
    [ "$(tail -4 "$top/out" | sed -n '1p; s/^  ring_demo .*/example/p' | tr '\n' ' ')" = \
        'Examples: example example example ' ] || complain "does not end with three examples"
    verdict "help: ring_demo $words"
done
run --help
for word in ring bench plan check doctor --gpus --devices --backend --count --dtype --op --pieces --slots \
    --repeat --init --input --output --trace --trace-file --step --engine --schedule --link --p2p --timeout \
    --color --quiet --version 'Exit status'; do
    wants_line "$word" "$top/out"
done
verdict "help names every command and option"
# Every example does what it says, on simulated GPUs, from a folder with two files and a plan.
mkdir examples && cd examples || exit 1
ln -s "$demo" ring_demo
npy grad-0.npy '<f4' '(2,)' '\0000\0000\0200\0077\0000\0000\0000\0100'
cp grad-0.npy grad-1.npy
"$demo" plan -g 3 >my.plan
for command in ring overlap plan check bugs doctor; do
    "$demo" $command --help | sed -n 's/^  \(ring_demo .*\)/\1/p' | tail -3 >"$top/examples"
    while IFS= read -r example; do
        (PATH=.:$PATH CUDA_VISIBLE_DEVICES='' sh -c "$example") >"$top/out" 2>"$top/err" </dev/null ||
            complain "'$example' ends with $?: $(cat "$top/err")"
        [ -s "$top/out" ] || complain "'$example' prints nothing"
    done <"$top/examples"
done
verdict "the examples of every --help work"
cd ..

run --version
wants_status 0
wants_silence
for part in cuda nccl nvtx compiler; do
    grep -q "^$part: ." "$top/out" || complain "does not say what $part was built in"
done
head -1 "$top/out" | grep -q '^ring_demo [0-9][0-9.]*$' || complain "$(head -1 "$top/out")"
verdict "--version"

run doctor
wants_status 0
wants_silence
flatten
wants_line '--backend auto takes'
verdict "doctor"
has_gpu=no
grep -q '^GPUs [1-9]' "$top/flat" && has_gpu=yes

if [ $has_gpu = no ]; then
    grep -Eq '^GPUs none: .*(driver|CUDA|device|GPU)' "$top/flat" || complain "does not say why"
    wants_line '--backend auto takes host'
    verdict "no_gpu: doctor says why there is none"
    if grep -q '^cuda not built in: CUDA=0' "$top/flat"; then
        ! grep -q '^GPUs .*nvcc was not found' "$top/flat" ||
            complain "CUDA=0 was asked for, and it says that nvcc was not found"
        verdict "no_gpu: doctor gives one and the same reason"
    fi
    refused 3 "--backend cuda: " --backend cuda
    refused 3 "--backend cuda: " --backend cuda -q --trace=json
    refused 2 "no GPU" --p2p off
    refused 2 "no GPU" --timeout 5
    run --trace
    wants_right
    head -2 "$top/flat" | grep -q '^note no GPU is used, but 4 simulated GPUs' ||
        complain "the first lines do not say that GPUs are simulated"
    verdict "no_gpu: auto takes simulated GPUs, and the first lines say so"
else
    refused 2 "is for --backend host" --backend cuda --link pcie3
    refused 2 "is for --backend host" --backend cuda --schedule random:1
    run -q -g 4
    wants_right
    verdict "gpu: four ranks"
    run --backend cuda --devices 0,0,0 --trace
    wants_right
    head -2 "$top/flat" | grep -q '3 ranks share 1 GPU' || complain "sharing is not announced"
    verdict "gpu: three ranks share one, and the first lines say so"
fi
run --link pcie3
wants_right
wants_line 'link pcie3'
verdict "--link alone is enough to simulate"
run --schedule random:3
wants_right
wants_line 'simulated'
verdict "--schedule random alone is enough to simulate"

# ---- good runs ---------------------------------------------------------------------------------

good() {
    host "$@"
    wants_right
    verdict "good: $*"
}
hash_of() { sed -n 's/.*hash of the result *\(0x[0-9a-f]*\).*/\1/p' "$top/out"; }

run ring --backend host
wants_right
verdict "good: ring"
good
good --gpus 4 --trace
good -g 3 -c 10 --trace
good -g 8 -c 3 --trace
good -g 1 --trace
good -g 1 -c 0 --trace
good -c 0 --trace
good -g 64 -c 0
good -g 5 -c 1 --trace
for n in 2 3 5 8 16 64; do good -g $n; done
good -g 16 --trace
good -g 64 -c 1000 --trace
good -c 1K
good -c 1M -g 2
good --pieces 3 -c 1003 --trace
good --pieces 4096 -c 10
good --slots 1 --trace
good --slots 5 --pieces 2 --repeat 3 -g 5 -c 77
good --repeat 2 --trace -g 2
good --repeat 100 -g 4 -c 7
good --devices 0,1,0,1 --trace
wants_line '4 ranks share 2 simulated GPUs'
verdict "shared devices are announced"
good --devices 0,0,0
good --devices 3,2,1,0
for init in rank ones random:0 random:18446744073709551615 values:1 values:1,-2,0.5 index; do
    good --init "$init" -g 3 -c 11
done
for link in nvlink4 nvlink3 nvlink2 pcie5 pcie4 pcie3 25:1.5 1e-6:1e6; do good --link $link; done
for dtype in float32 float64 float16 bfloat16 int32; do
    for op in sum avg min max prod; do
        good -d $dtype -o $op -g 3 -c 10 --trace
    done
done

# all CELL ARGS..: this is what every segment holds at the end
all() {
    cell=$1
    shift
    host --trace "$@"
    wants_right
    n=$(awk '/^result/ { exit } /^rank [0-9]+ all = / { line = $0 } END { print line }' "$top/flat" |
        awk -v cell="all = $cell" '{ print gsub(cell, "") }')
    [ "${n:-0}" -gt 0 ] || complain "the last state has no 'all = $cell'"
    verdict "all = $cell: $*"
}
all -3 -g 2 -d int32 -o avg --init values:-3,-4
all 3 -g 2 -d int32 -o avg --init values:3,4
all 2.5 -g 2 -o avg --init values:1,4
all 40000 -g 2 -d float16 -o avg --init values:40000,40000
all inf -g 2 -d float16 --init values:40000,40000
wants_line "not finite 2048 infinite and 0 NaN elements: such is the sum in float16"
verdict "an overflow of float16 is told"
all 2048 -g 2 -d float16 --init values:2048,1
all 256 -g 2 -d bfloat16 --init values:256,1
all 1.0039 -g 2 -d float32 --init values:1,0.00390625
all 1.0078 -g 2 -d bfloat16 --init values:1,0.005859375
all -2147483648 -g 2 -d int32 --init values:2147483647,1
all 6 -g 3 -d int32 --init values:1,2,3
all 24 -g 4 -o prod --init values:1,2,3,4
all -7 -g 4 -o min --init values:1,2,-7,4
all 4 -g 4 -o max --init values:1,2,-7,4
for op in sum avg min max prod; do all nan -g 3 -o $op --init values:1,nan,2; done
all nan -g 2 --init values:inf,-inf
all inf -g 2 --init values:inf,1
all 3 -g 3 --init rank
all 5 -g 5 --init ones

host -q -g 5 -c 1003 --init random:7
want=$(hash_of)
[ -n "$want" ] || complain "no hash is printed"
verdict "a hash is printed"
for seed in 0 1 2 3 42 9223372036854775807; do
    host -q -g 5 -c 1003 --init random:7 --schedule random:$seed
    wants_right
    [ "$(hash_of)" = "$want" ] || complain "hash $(hash_of), not $want"
    verdict "--schedule random:$seed gives the same bits"
done
for arguments in '' '--schedule random:3' '--delay s0.copy.r0:300'; do
    # shellcheck disable=SC2086
    host -q -g 5 -c 1003 --init random:7 --engine graph $arguments
    wants_right
    [ "$(hash_of)" = "$want" ] || complain "hash $(hash_of), not $want"
    verdict "--engine graph $arguments gives the same bits"
done
for arguments in '-g 1 --repeat 2' '-g 2' '-g 3 --pieces 2 --repeat 2' '-g 5 -c 7 -o avg -d int32' \
    '-g 4 --delay s0.copy.r0:300'; do
    # shellcheck disable=SC2086
    host --trace=json --engine eager $arguments
    mv "$top/out" eager.json
    # shellcheck disable=SC2086
    host --trace=json --engine graph $arguments
    wants_status 0
    wants_line '"engine":"graph"' "$top/out"
    sed 's/"engine":"graph"/"engine":"eager"/' "$top/out" | cmp -s - eager.json ||
        complain "ops, times or values are not those of eager"
    verdict "--engine graph $arguments has the modelled times of eager"
done
host -g 4 --engine graph --trace
flatten
wants_line 'engine graph (all ops kept'
wants_line 'in a second run, op by op)'
wants_line '(of both runs, the timed and the shown)'
verdict "--engine graph --trace"
host --bug gather-index -g 3 --engine graph
wants_status 1
verdict "--engine graph --bug gather-index"

for arguments in '--pieces 3' '--slots 1' '--devices 0,0,1,1,0' '--link pcie3' '--trace'; do
    # shellcheck disable=SC2086
    host -g 5 -c 1003 --init random:7 $arguments
    [ "$(hash_of)" = "$want" ] || complain "hash $(hash_of), not $want"
    verdict "$arguments gives the same bits"
done
host -q -g 5 -c 1003 --init random:8
[ "$(hash_of)" != "$want" ] || complain "another seed, the same hash"
verdict "another seed gives other bits"

# The ring inside one kernel is for GPUs; what it cannot be given is refused before that is asked.
for n in 1 4; do
    host_refused 3 "--engine kernel: the ring's kernel runs on GPUs, and these are simulated" \
        --engine kernel -g $n
done
host_refused 2 "--pieces with --engine kernel: the ring's kernel has blocks of threads" \
    --engine kernel --pieces 2
host_refused 2 "--slots with --engine kernel" --engine kernel --slots 3
host_refused 2 "--bug with --engine kernel" --engine kernel --bug gather-index
host --bug gather-index -g 3 --engine auto
wants_status 1
flatten
wants_line "taken by auto: the kernel knows no plan but the ring's"
verdict "--engine auto --bug gather-index is eager"
host -q -g 4 -c 1003
cp "$top/out" eager
host -q -g 4 -c 1003 --engine auto
wants_status 0
cmp -s "$top/out" eager || complain "not the bits of eager"
verdict "--engine auto has the bits of eager"
host -g 4 --engine auto
wants_status 0
flatten
wants_line 'engine eager (op by op; taken by auto: the kernel is not to be had: the ring'
verdict "--engine auto says what it took, and why"

for arguments in '--trace' '-g 3 -c 10 --trace=json' '--schedule random:5 --trace' '-q' 'json --repeat 2'; do
    case $arguments in json*) arguments="--trace=json${arguments#json}" ;; esac
    # shellcheck disable=SC2086
    host $arguments
    mv "$top/out" "$top/first"
    # shellcheck disable=SC2086
    host $arguments
    wants_same "$top/first" "$top/out" "the second run prints something else"
    verdict "twice the same bytes: $arguments"
done

host -q
wants_right
[ "$(wc -l <"$top/out")" -le 5 ] || complain "$(wc -l <"$top/out") lines"
! grep -q 'all-reduce' "$top/out" || complain "prints the head"
verdict "-q prints the verdicts only"
host -q --trace
[ "$status" = 2 ] || [ "$(wc -l <"$top/out")" -le 5 ] || complain "prints $(wc -l <"$top/out") lines"
verdict "-q with --trace: the verdicts only, or a refusal"

# ---- the text trace of four ranks ---------------------------------------------------------------

# block TITLE: the lines of one step, from its title to the next empty line
block() { awk -v title="$1" 'index($0, title) { on = 1 } on && /^$/ { exit } on' "$top/flat"; }
state() { # TITLE ROW..: the rows of the state table at this step
    title=$1
    shift
    block "$title" >"$top/block"
    for row; do wants_line "$row" "$top/block"; done
    verdict "trace of N=4: $title"
}
host -g 4 --trace
wants_right
head -1 "$top/flat" | grep -q 'all-reduce (sum) of 4096 float32' || complain "$(head -1 "$top/flat")"
wants_line 'no hazard; at the end every element holds each rank exactly once'
wants_line '24 KiB; 2(N-1)/N x S = 1.5 x 16 KiB'
verdict "trace of N=4: head, proof and bytes"
state 'before the first step' 'rank 0 0 = 0 0 = 20 0 = 40 0 = 60' 'rank 3 3 = 93 3 = 113 3 = 133 3 = 153'
state 'step s=0 (1 of 6), scatter-reduce' 'rank 0 -> rank 1 segment 0' 'rank 3 -> rank 0 segment 3' \
    'rank 0 0 = 0 0 = 20 0 = 40 0+3 = 213' 'rank 1 0+1 = 31 1 = 51 1 = 71 1 = 91'
state 'step s=2 (3 of 6), scatter-reduce' 'rank 0 -> rank 1 segment 2' 'after s1.reduce.r0 ready' \
    's0.reduce.r1 drained' 'rank 0 0 = 0 all = 266 0+2+3 = 275 0+3 = 213' \
    'rank 3 all = 186 1..3 = 246 2+3 = 235 3 = 153'
state 'step s=3 (4 of 6), all-gather' 'rank 0 -> rank 1 segment 1' \
    'rank 1 0+1 = 31 all = 266 all = 346 0+1+3 = 304'
state 'step s=5 (6 of 6), all-gather' 'rank 0 all = 186 all = 266 all = 346 all = 426' \
    'rank 3 all = 186 all = 266 all = 346 all = 426'
owners=$(sed -n '/^After scatter-reduce/,/^$/p' "$top/flat" | tr '\n' ' ')
case $owners in *'rank 0: segment 1, rank 1: segment 2, rank 2: segment 3, rank 3: segment 0'*) ;; *) complain "says '$owners'" ;; esac
verdict "trace of N=4: owners"
[ "$(grep -c '^step s=' "$top/flat")" = 6 ] || complain "there are not six steps"
[ "$(grep -c '^rank . -> rank' "$top/flat")" = 24 ] || complain "there are not 24 copies"
[ "$(grep -c '^rank . adds' "$top/flat")" = 12 ] || complain "there are not 12 adds"
verdict "trace of N=4: 6 steps, 24 copies, 12 adds"

wide() {
    host --trace "$@"
    wants_right
    awk -v most=0 'length > most { most = length; line = NR ": " $0 }
        END { if (most > 100) { print most " columns, line " line; exit 1 } }' "$top/out" \
        >"$top/widest" || complain "$(cat "$top/widest")"
    verdict "100 columns: $*"
}
for n in 2 3 4 8; do
    wide -g $n
    wide -g $n -c 1003
    wide -g $n -c 1003 --pieces 3
    wide -g $n -c 1003 --pieces 3 --slots 1 --repeat 2
    wide -g $n -c 1003 -o avg -d float64 --init random:3
    wide -g $n -c 1000003 --pieces 3
    wide -g $n --schedule random:1 -c 1003
    wide -g $n --link 0.001:100000
done
wide --devices 0,1,0,1
wide --devices 0,1,0,1,0,1,0,1 -c 1003 --pieces 3
wide --devices 0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1
wide -g 8 -c 1003 --init values:-1234567.25,1e30,-1e-30
wide -g 12 --pieces 12 -c 100
wide -g 16 -c 1003
wide -g 64 -c 1003

# ---- JSON lines --------------------------------------------------------------------------------

python=$(command -v python3) && "$python" -c 'import json' 2>/dev/null || python=
: >"$top/all.json"
json() { # COPIES ARGS..: number of copies, or - where counts are uneven
    copies=$1
    shift
    host --trace=json "$@"
    wants_status 0
    [ "$(wc -l <"$top/err")" = 1 ] && grep -q '^ring_demo: note: .*simulated' "$top/err" ||
        complain "stderr is no one-line notice: $(head -c 200 "$top/err")"
    awk -v copies="$copies" '
    function bad(why) { if (!failed++) print "line " NR ": " why }
    function field(name,   text) { # a plain number
        if (!match($0, "\"" name "\":-?[0-9.]+")) return "none"
        text = substr($0, RSTART, RLENGTH); sub(/.*:/, "", text); return text + 0
    }
    {
        line = $0; gsub(/\\./, "", line); quotes = gsub(/"/, "", line)
        if (quotes % 2) bad("quotes do not match")
        line = $0; gsub(/\\./, "", line); gsub(/"[^"]*"/, "", line)
        opened = gsub(/[[{]/, "", line); closed = gsub(/[]}]/, "", line)
        if (opened != closed || !/^\{.*\}$/) bad("is no object")
        if (line ~ /nan|inf/) bad("a bare nan or inf")
        line = $0; words = gsub(/"copy"/, "", line)
        line = $0; kinds = gsub(/"kind":"copy"/, "", line)
        if (words != kinds) bad("\"copy\" stands elsewhere than as a kind")
    }
    /^\{"type":"header",/ {
        if (NR != 1) bad("a header")
        n_ops = field("n_ops"); n_ranks = field("ranks")
        next
    }
    /^\{"type":"op",/ {
        if (done) bad("an op behind the summary")
        id = field("id"); if (id != ops++) bad("id " id)
        n_copies += /"kind":"copy"/
        begin = field("begin_us"); end = field("end_us"); ended[id] = end
        if (begin == "none" || end == "none" || begin > end) bad("begins at " begin ", ends at " end)
        waits = $0; sub(/.*"waits":\[/, "", waits)
        while (match(waits, /"op":-?[0-9]+/)) {
            w = substr(waits, RSTART + 5, RLENGTH - 5) + 0
            waits = substr(waits, RSTART + RLENGTH)
            if (w < 0 || w >= id) bad("waits for op " w)
            else if (ended[w] > begin) bad("begins before op " w " has ended")
        }
        next
    }
    /^\{"type":"state",/ {
        if (done || ops != n_ops) bad("a state that is not between ops and summary")
        if (field("stop") != states++) bad("stop " field("stop"))
        n_cells = gsub(/\{"holds"/, ""); n_empty = gsub(/\{\}/, "")
        next
    }
    /^\{"type":"summary",/ { done++; next }
    { bad("no header, op, state or summary") }
    END {
        if (done != 1) bad(done + 0 " summaries")
        if (n_cells + n_empty != n_ranks * n_ranks) bad(n_cells + n_empty " cells at the last stop")
        if (n_ops != ops + 0) bad("n_ops is " n_ops ", ops are " ops)
        if (copies != "-" && copies != n_copies + 0) bad(n_copies " copies, not " copies)
        exit failed > 0
    }' "$top/out" >"$top/why" || complain "$(cat "$top/why")"
    cat "$top/out" >>"$top/all.json"
    verdict "json: $*"
}
json 24 -g 4
json 4 -g 2
json 112 -g 8 -q
json 0 -g 1
json 0 -c 0
json - -g 3 -c 10 --pieces 3 --repeat 2
json - -g 3 -c 2 -o avg -d int32
json 12 -g 3 --init values:nan,inf,1
json 24 --devices 0,1,0,1
json - -g 5 -c 1003 --schedule random:9
json 480 -g 16

# What the JSON lines say is what the text says: whose contributions every copy and add carries, and
# every cell of every state, but for the empty ones.
told_alike() { # ARGS..
    host --trace "$@"
    flatten
    awk '{ sub(/ p[0-9]+ /, " ") } # pieces
         /^(step|before|behind|iteration|op)/ { on = 1 } /^result/ { on = 0 }
         on && /^rank [0-9]+ -> / { print "op", $2, $5, $8 }
         on && /^rank [0-9]+ (adds|scales|refills) +segment/ { print "op", $2, $2, $7 }
         on && /^rank [0-9]+ .* = / {
            n = split($0, w, " "); cells = ""
            for (i = 3; i + 2 <= n; i++) if (w[i + 1] == "=") cells = cells " " w[i] "=" w[i + 2]
            print "cells" cells
         }' "$top/flat" >"$top/told-text"
    sort -o "$top/told-text" "$top/told-text"
    host --trace=json "$@"
    awk 'function field(name,  t) {
             if (!match($0, "\"" name "\":\"?[^\",}]*")) return ""
             t = substr($0, RSTART, RLENGTH); sub(/^[^:]*:"?/, "", t); return t
         }
         /"type":"op"/ && /"segment"/ {
            holds = field("holds"); rank = field("rank"); to = $0
            sub(/.*"dst":\{"rank":/, "", to)
            print "op", rank, to + 0, holds
         }
         /"type":"state"/ {
            sub(/.*"cells":\[\[/, ""); sub(/\]\]\}$/, "")
            gsub(/\{"holds":"/, " "); gsub(/","value":/, "="); gsub(/","mixed":true,"value":/, "~=")
            gsub(/[{}",]/, "")
            n = split($0, rows, /\]\[/)
            for (i = 1; i <= n; i++) if (rows[i] != "") print "cells" rows[i]
         }' "$top/out" >"$top/told-json"
    sort -o "$top/told-json" "$top/told-json"
    [ -s "$top/told-text" ] && cmp -s "$top/told-text" "$top/told-json" ||
        complain "$(diff "$top/told-text" "$top/told-json" | head -3 | tr '\n' ' ')"
    verdict "json says what the text says: $*"
}
told_alike -g 2
told_alike -g 4
told_alike -g 3 -c 2
told_alike -g 5 -c 1003 --pieces 2 --repeat 2
told_alike -g 3 -c 7 -o avg -d int32 --init values:1,2,-7
told_alike -g 3 --init values:nan,inf,-inf
told_alike -g 4 --bug gather-index
told_alike -g 4 --bug remainder -c 10

if [ -n "$python" ]; then
    "$python" -c 'import json, sys
def refuse(word): raise ValueError("bare " + word)
for line in open(sys.argv[1], encoding="utf-8"): json.loads(line, parse_constant=refuse)' \
        "$top/all.json" 2>"$top/why" || complain "$(tail -1 "$top/why")"
    verdict "json: Python reads every line"
fi

# ---- colour ------------------------------------------------------------------------------------

escape=$(printf '\033')
coloured() { # yes|no ARGS..
    want=$1
    shift
    host "$@"
    has=no
    grep -q "$escape" "$top/out" && has=yes
    [ $has = "$want" ] || complain "escape sequences: $has"
    verdict "colour $want: $*"
}
coloured no --trace
coloured no --trace --color auto
coloured no --trace --color never
coloured yes --trace --color always
coloured no --trace=json --color always
host --trace --color never
mv "$top/out" "$top/plain"
host --trace --color always
sed "s/$escape\[[0-9;]*m//g" "$top/out" >"$top/bare"
wants_same "$top/plain" "$top/bare" "colour changes the words"
verdict "colour changes no words"

# On a terminal, where util-linux's script(1) can pretend one: typed ANSWERS go to ring_demo.
if script --version 2>/dev/null | grep -q util-linux &&
    script -qec true /dev/null >/dev/null 2>&1 </dev/null; then # and there are terminals to be had
    terminal() { # ANSWERS COMMAND
        printf "$1" | script -qec "$2" /dev/null >"$top/out" 2>&1
        status=$?
    }
    terminal '' "'$demo' --backend host --trace"
    grep -q "$escape" "$top/out" || complain "no colour"
    verdict "a terminal gets colour"
    terminal '' "NO_COLOR=1 '$demo' --backend host --trace"
    ! grep -q "$escape" "$top/out" || complain "colour in spite of NO_COLOR"
    verdict "NO_COLOR is honoured"
    terminal '\n\n\n\n\n\n' "'$demo' --backend host -g 3 --trace --step --color never"
    wants_status 0
    flatten
    [ "$(grep -o 'next step' "$top/flat" | grep -c .)" -ge 3 ] || complain "does not pause"
    wants_line 'the run is over'
    wants_line 'value right yes'
    verdict "--step pauses on a terminal"
fi

# ---- plan and check ----------------------------------------------------------------------------

clear_folder
proven() { # ARGS..
    run plan "$@"
    wants_status 0
    wants_silence
    # `after` is the word of a wait, and stands nowhere else
    awk '{ for (i = 1; i <= NF; i++) {
            if (tolower($i) !~ /after/) continue
            if ($i != "after" || $(i + 2) !~ /^(ready|arrived|drained|serial)$/) exit 1
        } }' "$top/out" || complain "'after' stands elsewhere than in a wait"
    "$demo" check - <"$top/out" >"$top/proof" 2>"$top/err" || complain "check: $(cat "$top/err")"
    wants_line 'no hazard; at the end every element holds each rank exactly once' "$top/proof"
    verdict "plan is proven: $*"
}
proven -g 4
proven -g 1
proven -g 2 -c 0
proven -g 3 -c 10 --pieces 3
proven -g 5 -c 3 --slots 1 --repeat 3
proven -g 4 -o avg -d int32
proven -g 8 -o avg -d float64 --pieces 2 --slots 3
proven -g 64 -c 1000
proven -g 4 -c 5G

begin=$(date +%s)
run plan -c 5G -g 4
[ $(($(date +%s) - begin)) -le 2 ] || complain "takes more than 2 s"
wants_line '[4026531840:5368709120]' "$top/out"
! grep -q -e ':-' -e '\[-' "$top/out" || complain "a negative offset"
verdict "plan -c 5G is quick and counts in 64 bits"

run plan -g 4
cp "$top/out" p
refuted() { # NAME TEXT..: the plan in q
    name=$1
    shift
    run check q
    wants_status 1
    [ "$(cat "$top/err")" = 'ring_demo: q: the plan is refuted' ] || complain "$(cat "$top/err")"
    for text; do wants_line "$text" "$top/out"; done
    verdict "refuted: $name"
}
without() { # OP WAIT REASON
    sed "/^$1:/s/ after $2 $3//" p >q
    cmp -s p q && complain "the plan has no such wait"
    grep -q "^$1:" q || complain "the plan has no $1"
    refuted "$1 without its wait for $2" "$1" "$2" "$3"
}
without s2.copy.r0 s0.reduce.r1 drained
without s2.copy.r0 s1.reduce.r0 ready
without s0.reduce.r1 s0.copy.r0 arrived
without s5.copy.r3 s4.copy.r2 arrived
run plan -g 3 -c 1003 --pieces 2 --slots 1
cp "$top/out" p
line=$(grep -m 1 ' drained' p)
op=${line%%:*}
wait=$(echo "$line" | sed 's/.* after \([^ ]*\) drained.*/\1/')
without "$op" "$wait" drained
run plan -g 4
cp "$top/out" p
sed 's/^s0.reduce.r1\(:.*\)/&\
twice\1/' p >q
refuted "a doubled add" twice 'data[0:1024] of ranks 0..3 holds 0+0+1..3'
grep -v '^s5.copy.r3' p >q
refuted "a missing copy" '0.data[2048:3072]'
sed '/^s5.copy.r3:/s/:3072/:3071/g' p >q
refuted "one element missed" '0.data[3071:3072]' 'wrong sum'
sed '/^s2.copy.r0:/s/after s0.reduce.r1 drained/after s5.copy.r3 arrived/' p >q
refuted "a circle" 'can never finish' s2.copy.r0
sed 's/^inbox 2048/inbox 100/' p >q
refuted "beyond the inbox" 'cannot run' s0.copy.r0 'inbox has 100 elements'

# ---- plans of one's own ------------------------------------------------------------------------

cat >by-hand <<'END'
plan 1
ranks 3
count 8
goal broadcast 1
a: copy 1.data -> 2.data
b: copy 2.data -> 0.data after a arrived
END
host --plan by-hand --trace
wants_right
wants_line 'broadcast from rank 1 of 8 float32, 32 B, on each of 3 ranks'
wants_line 'plan by-hand'
wants_line 'op 2 of 2'
wants_line 'b rank 2 -> rank 0 [0:8] 1 32 B 2.4 .. 4.8 after a arrived'
verdict "a plan by hand, run and traced"
"$demo" --plan - --backend host -q <by-hand >"$top/out" 2>"$top/err"
status=$?
wants_right
verdict "a plan from standard input"
host --plan by-hand -g 3 -c 8 -d float32 -o sum --pieces 1 --slots 1 --repeat 1 -q
wants_right
verdict "a plan, and options that say the same"
for option in '-g 4' '-c 9' '-d int32' '-o max' '--pieces 2' '--slots 2' '--repeat 2' \
    '--bug add-early' '--devices 0,1'; do
    # shellcheck disable=SC2086
    host --plan by-hand $option
    wants_refusal 2 "${option%% *}"
    verdict "a plan, and $option"
done
sed 's/ after.*//' by-hand >racy
host --plan racy -q
wants_status 1
flatten
wants_line 'value right NO'
wants_line 'the plan is refuted, and the result is wrong' "$top/err"
verdict "a refuted plan runs"
host --plan racy --schedule random:1 -q
wants_status 1
flatten
wants_line 'value right yes'
wants_line 'the plan is refuted' "$top/err"
verdict "a refuted plan that is lucky is refuted all the same"
host --plan racy --schedule search:50 -q
wants_status 1
flatten
wants_line 'random schedules of seeds 0 to 49 the first that goes wrong is'
seed=$(sed -n 's/.*--schedule random:\([0-9]*\)$/\1/p' "$top/out")
hash=$(grep hash "$top/out")
host --plan racy --schedule "random:$seed" -q
flatten
wants_line 'value right NO'
[ "$hash" = "$(grep hash "$top/out")" ] || complain "seed $seed gives another hash"
verdict "a search finds a seed that shows it again"
host --plan by-hand --schedule search:20 -q
wants_right
wants_line 'none of seeds 0 to 19 goes wrong'
verdict "a search in vain"
host --plan by-hand --delay a:70 --trace
wants_right
wants_line 'held back a starts 70 us late'
wants_line 'b rank 2 -> rank 0 [0:8] 1 32 B 2.4'
verdict "held back, a proven plan is right"
for delay in a a: :5 a:0 a:1000001 a:x c:5; do
    host --plan by-hand --delay "$delay"
    wants_refusal 2 "--delay $delay"
    verdict "--delay $delay"
done
printf 'plan 1\nranks 2\ncount 2\nx: copy 0.data[0:9] -> 1.data[0:9]\n' >outside
host --plan outside
wants_status 1
wants_line 'cannot run: x touches 1.data[0:9], but rank 1'"'"'s data has 2 elements' "$top/out"
wants_line 'the plan is refuted, and cannot run' "$top/err"
verdict "a plan that cannot run"
host --plan outside --trace=json --output 'r%r.npy'
wants_status 1
[ ! -s "$top/out" ] || complain "prints $(head -c 80 "$top/out")"
verdict "a plan that cannot run, as json"
host --bug slot-early -g 4 --trace=json
wants_status 1
wants_line '"kind":"hazard","hazard":"write-after-read","text":"hazard (write-after-read): s2.copy.r0 ' "$top/out"
wants_line '"ops":[5,16],"where":{"rank":1,"memory":"inbox","first":0,"count":1024},"missing":{"op":16,"waits_for":5,"reason":"drained"}}' "$top/out"
verdict "a refuted plan, as json"
host --bug gather-index -g 3 --trace=json
wants_status 1
wants_line '"kind":"sum","text":"wrong sum: at the end' "$top/out"
wants_line '"ops":[],"where":{"rank":' "$top/out"
verdict "wrong sums, as json"
host --plan nowhere
wants_refusal 2 nowhere
verdict "a plan that is not there"
host --plan .
wants_refusal 2 .
verdict "a plan that is a folder"
host --plan by-hand --trace=json
wants_status 0
wants_line '"goal":"broadcast","root":1,"plan":"by-hand"' "$top/out"
wants_line '"name":"b"' "$top/out"
[ "$(grep -c '"copy"' "$top/out")" = 2 ] || complain "copies are not counted by their kind"
verdict "a plan by hand, as json"
printf 'plan 1\nranks 3\ncount 8\ninbox 8\ngoal reduce 2\na: copy 0.data -> 1.inbox\nb: reduce 1.inbox -> 1.data after a arrived\nc: copy 1.data -> 2.inbox after b ready\nd: reduce 2.inbox -> 2.data after c arrived\n' >reduce
host --plan reduce
wants_status 0
flatten
wants_line 'reduce (sum) to rank 2'
wants_line 'all ranks bit-identical n/a'
wants_line 'value right yes'
verdict "a goal that wants one rank only"

# ---- the museum --------------------------------------------------------------------------------

run bugs --backend host
wants_status 0
wants_silence
[ "$(grep -c -e ' yes$' -e ' -$' "$top/out")" = 18 ] || complain "there are not 18 exhibits"
verdict "bugs"
for bug in $(awk '/ (yes|-)$/ { print $1 }' "$top/out"); do
    run bugs "$bug" --backend host --runs 2
    wants_status 0
    wants_silence
    grep -q "^$bug: " "$top/out" || complain "it does not begin with its name"
    verdict "bugs $bug"
done
run bugs every-wait --backend host -g 2
wants_status 0
wants_line 'of 4' "$top/out"
verdict "bugs every-wait"
run bugs nothing
wants_refusal 2 nothing
verdict "bugs nothing"
run bugs add-early -g 3
wants_refusal 2 --gpus
verdict "bugs NAME --gpus"
run bugs every-wait -g 17
wants_refusal 2 --gpus
verdict "bugs every-wait, too many"
run bugs add-early extra
wants_refusal 2 extra
verdict "bugs, two names"
host --bug nothing
wants_refusal 2 '--bug nothing'
verdict "--bug nothing"
host --bug remainder -g 4 -c 16
wants_refusal 2 'a count that N does not divide'
verdict "--bug that has no place"
host --bug stream-for-event
wants_refusal 2 '--repeat 2'
verdict "--bug that needs another option"
host --bug gather-index -g 3 --trace
wants_status 1
flatten
wants_line 'fault gather-index: the all-gather sends the wrong segment'
wants_line 'all ranks bit-identical yes'
wants_line 'value right NO'
verdict "--bug gather-index"
host --bug gather-index -g 2 -q
wants_refusal 2 'three ranks or more'
verdict "--bug gather-index on two ranks"
host --bug add-early -g 3 --trace
flatten
wants_line 'THE PLAN HAS HAZARDS'
! grep -q 'After scatter-reduce' "$top/flat" || complain "it says who owns what"
verdict "--bug add-early, traced"
run plan --plan by-hand
wants_status 0
grep -v '^goal\|^dtype\|^redop' "$top/out" | grep -q 'b: copy 2.data\[0:8\] -> 0.data\[0:8\] after a arrived' ||
    complain "op b is not there"
cp "$top/out" again
run plan --plan again
wants_same "$top/out" again "printed again it is another plan"
verdict "plan --plan"
host --bug first-element -g 3 --trace
flatten
wants_line 'By now rank r should own segment (r+1) mod 3, complete. It is not so.'
verdict "an owner that does not own is not called one"
host --bug host-buffer -g 3 -q
wants_status 1
wants_line 'the result is wrong' "$top/err"
verdict "--bug host-buffer"
host --bug add-early --output 'r%r.npy' -q
wants_status 1
[ -z "$(ls r*.npy 2>/dev/null)" ] || complain "a wrong result was written"
verdict "a wrong result is not written"
run plan --bug slot-early --slots 1 -g 3
cp "$top/out" broken
run check broken
wants_status 1
wants_line 's1.copy.r0 should wait for s0.reduce.r1: drained' "$top/out"
verdict "a fault in the plan's text"

# ---- slow links --------------------------------------------------------------------------------

host -g 3 --slow link=1-2:4x --trace
wants_right
wants_line 'between 1 and 2 4 times as long'
wants_line 'rank 1 -> rank 2 segment 1 1 4 KiB 0.0 .. 9.6'
wants_line 'rank 0 -> rank 1 segment 0 0 4 KiB 0.0 .. 2.4'
verdict "--slow link"
for slow in link=1-1:2 link=0-9:2 link=0:2 link=0-1:0.5 rank=1:3 link=0-1 link=0-1:2y; do
    host -g 3 --slow "$slow"
    wants_refusal 2 "--slow $slow"
    verdict "--slow $slow"
done

unreadable() { # LINE:COLUMN TEXT: the plan in q
    run check q
    wants_refusal 2 "q:$1"
    case $message in *"$2"*) ;; *) complain "says '$message', without '$2'" ;; esac
    verdict "unreadable plan, $1 $2"
}
add() { { cat p; echo "$1"; } >q; }
echo 'plan 2' >q && unreadable 1:6 "'2'"
: >q && unreadable 1:1 "'plan 1'"
printf 'plan 1\n' >q && unreadable 2:1 ranks
printf 'plan 1\nranks 0\n' >q && unreadable 2:7 "'0'"
printf 'plan 1\nranks 99999999999999999999\n' >q && unreadable 2:7 "'99999999999999999999'"
sed 's/^redop sum/redop frob/' p >q && unreadable 6:7 "'frob'"
sed 's/^count 4096/count -1/' p >q && unreadable 3:7 "'-1'"
add garbage && unreadable 47:1 "'garbage'"
add 'x: jump 0.data[0:4] -> 1.inbox[0:4]' && unreadable 47:4 "'jump'"
add 'x: copy 0.data[0:4] -> 1.inbox[0:5]' && unreadable 47:24 "'1.inbox[0:5]'"
add 'x: copy 9.data[0:4] -> 1.inbox[0:4]' && unreadable 47:9 "'9.data[0:4]'"
add 'x: scale 4.data[0:4]' && unreadable 47:10 "'4.data[0:4]'"
add 'x: copy 0.data[0:4] -> 1.inbox[0:4] lane 4.send' && unreadable 47:42 "'4.send'"
add 'x: copy 0.data[4:0] -> 1.inbox[4:0]' && unreadable 47:9 "'0.data[4:0]'"
add 'x: copy 0.data[0:99999999999999999999] -> 1.inbox[0:4]' && unreadable 47:9 '99999'
add 'x: copy 0.data[0:4] -> 1.inbox[0:4] after nobody ready' && unreadable 47:43 "'nobody'"
add 'x: copy 0.data[0:4] -> 1.inbox[0:4] after s0.copy.r0 whim' && unreadable 47:54 "'whim'"
add 'x: copy 0.data[0:4] -> 1.inbox[0:4] after s0.copy.r0' && unreadable 47: reason
add 'x: copy 0.data[0:4] -> 1.inbox[0:4] lane 0.foo' && unreadable 47:42 "'0.foo'"
add 's0.copy.r0: copy 0.data[0:4] -> 1.inbox[0:4]' && unreadable 47:1 "'s0.copy.r0'"
sed 's/^count/count 5\
count/' p >q && unreadable 4:1 count
grep -v '^count' p >q && unreadable '' count
printf 'plan 1\nranks 2\n\000\001\377\n' >q && unreadable 3:1 found
sed 's/$/\r/' p >q
run check q
wants_status 0
verdict "a plan with DOS line ends is read"
refused 2 "missing" check missing
mkdir folder
refused 2 "folder" check folder
"$demo" check - <p >"$top/out" 2>"$top/err"
status=$?
wants_status 0
verdict "check - reads standard input"

# ---- .npy files --------------------------------------------------------------------------------

clear_folder
sums() { # TYPE SHAPE COUNT ARGS..: three files are added up in all three outputs, shape kept
    type=$1
    shape=$2
    count=$3
    clear_folder
    three "$type" "$shape" "$count"
    npy "$top/want" "$type" "$shape" "$(pattern "$type" 3 sum "$count")"
    shift 3
    host --input 'g-%r.npy' --output 'out-%r.npy' "$@"
    wants_right
    for r in 0 1 2; do
        wants_same "$top/want" out-$r.npy "out-$r.npy is not the sum"
        npy "$top/input" "$type" "$shape" "$(pattern "$type" 3 $r "$count")"
        wants_same "$top/input" g-$r.npy "g-$r.npy was changed"
    done
    wants_files 'g-0.npy g-1.npy g-2.npy out-0.npy out-1.npy out-2.npy'
    verdict "sum of three files: $type $shape $*"
}
for type in '<f4' '<f8' '<i4'; do
    sums "$type" '(50,)' 50
    sums "$type" '(4, 5)' 20 --pieces 3 --trace
    sums "$type" '(2, 1, 3)' 6 --schedule random:4
done
sums '<f4' '(2,)' 2 -g 3
sums '<f4' '()' 1
sums '<f4' '(0,)' 0
sums '<f8' '(3, 0)' 0
sums '<f4' '(9,)' 9 --devices 0,1,0
sums '<f4' '(1003,)' 1003 -c 1003 -d float32 -o sum

# added_in_order TYPE: g-0.npy .. g-2.npy add up to $top/want, whose bits depend on the order.
added_in_order() {
    host --input 'g-%r.npy' --output 'out-%r.npy'
    wants_right
    for r in 0 1 2; do wants_same "$top/want" out-$r.npy "out-$r.npy is not the sum"; done
    verdict "random $1, added in the ring's order, bit for bit"
}
clear_folder
npy g-0.npy '<f4' '(7,)' "$(hex 8cb80cc1 bb738cbe 149bfa3f aae9973f 8164823e 5f84993e 0eb5153e)"
npy g-1.npy '<f4' '(7,)' "$(hex ea776a3f f5b82d41 b4d67dbd 6af713bf 5fdb4b3e 6d6cdec0 b8200abe)"
npy g-2.npy '<f4' '(7,)' "$(hex c51b81bf 8a8935c0 e381b93b 7fda93c1 b3d4073f 232ed740 00a73cc0)"
npy "$top/want" '<f4' '(7,)' "$(hex 86340ec1 e9e5f740 e065f33f 9ffb8ec1 ccfd7b3f 007f963d baed3bc0)"
added_in_order float32
npy g-0.npy '<f8' '(4,)' "$(hex 7ced2fe9eb081e40 7f604864f371843f 41d6449ae39b58c0 7f1ced341128eb3f)"
npy g-1.npy '<f8' '(4,)' "$(hex f71684a1e353cf3f 60051d0d7c02853f 3d7f28c066a68c3f 5a935604f6131f40)"
npy g-2.npy '<f8' '(4,)' "$(hex ba1ba5334bf60a40 ecb913ad8743c33f ca52e4ce6ac6003f 59f6c0f4b1bfe5bf)"
npy "$top/want" '<f8' '(4,)' "$(hex 084e0750583f2640 4a102aa4cedac53f 867edbe0fd9a58c0 1f185cec01c11f40)"
added_in_order float64
npy g-0.npy '<f2' '(7,)' "$(hex 029d b944 3a1a d3a0 6a44 003c 0300)"
npy g-1.npy '<f2' '(7,)' "$(hex c434 30ba e545 9a39 229d 0580 ff7b)"
npy g-2.npy '<f2' '(7,)' "$(hex cd9d 16c5 72c5 c8b9 8594 537b ff7b)"
npy "$top/want" '<f2' '(7,)' "$(hex 9934 8cbc 4037 15a8 6844 537b 007c)"
added_in_order float16
npy g-0.npy '<f4' '(3,)' "$(hex 0000c07f 0000807f 0000803f)"
npy g-1.npy '<f4' '(3,)' "$(hex 0000803f 000080ff 010080ff)"
npy g-2.npy '<f4' '(3,)' "$(hex 00000040 00000040 00000040)"
npy "$top/want" '<f4' '(3,)' "$(hex ffffff7f ffffff7f ffffff7f)"
host --input 'g-%r.npy' --output 'out-%r.npy'
wants_right
for r in 0 1 2; do wants_same "$top/want" out-$r.npy "out-$r.npy is not three NaNs"; done
verdict "NaN, infinity minus infinity and a signalling NaN give the one NaN"

clear_folder
three '<f4' '(50,)' 50
npy_raw g-1.npy 2 "{'descr': '<f4', 'fortran_order': False, 'shape': (50,), }" "$(pattern '<f4' 3 1 50)"
npy_raw g-2.npy 3 "{'shape': (50,), 'fortran_order': False, 'descr': '<f4'}" "$(pattern '<f4' 3 2 50)"
npy "$top/want" '<f4' '(50,)' "$(pattern '<f4' 3 sum 50)"
host --input 'g-%r.npy' --output 'out-%r.npy'
wants_right
wants_same "$top/want" out-1.npy "the sum is wrong"
verdict "format versions 1.0, 2.0 and 3.0"
npy "$top/want" '<f4' '(50,)' "$(pattern '<f4' 3 0 50)"
host --input 'g-%r.npy' --output 'one-%r.npy' -g 1
wants_right
wants_same "$top/want" one-0.npy "one rank's result is not its input"
verdict "-g takes fewer files than there are"
host --input g-0.npy --output one.npy
wants_right
wants_same "$top/want" one.npy "one rank's result is not its input"
verdict "a name without %r is one file for one rank"

clear_folder
host -g 2 -c 5 --init values:1,2 --output 'out-%r.npy'
wants_right
npy "$top/want" '<f4' '(5,)' "$(hex 00004040 00004040 00004040 00004040 00004040)"
wants_same "$top/want" out-0.npy "out-0.npy is not five threes"
wants_same "$top/want" out-1.npy "out-1.npy is not five threes"
verdict "--output without --input"
echo old >out-0.npy
host -g 1 -c 1 -d int32 --init values:7 --output out-0.npy
wants_right
npy "$top/want" '<i4' '(1,)' "$(hex 07000000)"
wants_same "$top/want" out-0.npy "it is not replaced"
verdict "--output replaces a file; no %r is needed for one rank"

# Refusals name the file, and leave the folder as it was.
clear_folder
three '<f4' '(8,)' 8
kept() { # STATUS TEXT ARGS..: refused, out-0.npy is kept and nothing is new
    echo precious >out-0.npy
    ls -A >"$top/before"
    want=$1
    text=$2
    shift 2
    host "$@"
    wants_refusal "$want" "$text"
    ls -A >"$top/after"
    wants_same "$top/before" "$top/after" "the folder now holds $(tr '\n' ' ' <"$top/after")"
    [ "$(cat out-0.npy)" = precious ] || complain "out-0.npy was overwritten"
    rm -f out-0.npy
    verdict "refused, files kept: $*"
}
in_out() { kept 2 "$@" --input 'g-%r.npy' --output 'out-%r.npy'; }
in_out "--count 9" -c 9
in_out "--dtype float64" -d float64
in_out "g-3.npy" -g 4
in_out "--devices 0,1" --devices 0,1
in_out "--init and --input" --init ones
in_out "--repeat 2" --repeat 2
kept 2 "missing-0.npy" --input 'missing-%r.npy' --output 'out-%r.npy'
kept 2 "%r" --input 'g-0.npy' -g 2 --output 'out-%r.npy'
kept 2 "with 3 ranks the name needs %r" --input 'g-%r.npy' --output out-0.npy
kept 2 "with 4 ranks the name needs %r" --output out-0.npy
kept 2 "g-%r.npy" --input 'g-%r.npy' --output 'g-%r.npy'
kept 2 "./g-%r.npy" --input 'g-%r.npy' --output './g-%r.npy'
kept 2 "g-%r.npy" --input './g-%r.npy' --output "$top/work/g-%r.npy"
ln -s g-1.npy link-1.npy
kept 2 "link-%r.npy" --input 'g-%r.npy' --output 'link-%r.npy'
rm link-1.npy
ln g-2.npy hard-0.npy
kept 2 "hard-%r.npy" --input 'g-%r.npy' --output 'hard-%r.npy'
rm hard-0.npy
kept 2 "no/out-" --input 'g-%r.npy' --output 'no/out-%r.npy'
kept 2 "no/out-" --output 'no/out-%r.npy'
kept 2 "no/trace" --trace --trace-file no/trace --output 'out-%r.npy'
kept 2 "--input" --input ''
kept 2 "--output" --output '' -g 1
kept 2 "--trace-file" --trace --trace-file ''
mkdir out-2.npy
kept 2 "out-2.npy" --input 'g-%r.npy' --output 'out-%r.npy'
rmdir out-2.npy
ln -s nowhere out-1.npy
kept 2 "out-1.npy" --input 'g-%r.npy' --output 'out-%r.npy'
rm out-1.npy
mkdir folder
kept 2 "folder" --trace --trace-file folder
kept 2 "folder" --input folder
kept 2 "folder" --output folder -g 1
[ ! -c /dev/null ] || kept 2 "/dev/null" --output /dev/null -g 1
[ ! -c /dev/full ] || kept 3 "/dev/full" --trace --trace-file /dev/full
for file in g-0.npy g-1.npy; do
    cp $file "$top/copy"
    host --input 'g-%r.npy' --trace --trace-file $file
    wants_status 2
    wants_same "$top/copy" $file "the trace overwrites the input $file"
    cp "$top/copy" $file
    verdict "--trace-file that names the input $file"
done
"$demo" plan -g 2 >read.plan
echo 'layer 1024' >read.layers
for words in 'ring --plan read.plan' 'overlap --layers read.layers'; do
    file=${words##* }
    for trace in text json perfetto html; do
        cp $file "$top/copy"
        run $words --backend host --trace=$trace --trace-file ./$file
        wants_status 2
        wants_same "$top/copy" $file "the trace overwrites $file"
        grep -q "would overwrite the input $file" "$top/err" || complain "$(cat "$top/err")"
        cp "$top/copy" $file
        verdict "--trace=$trace --trace-file that names what $words reads"
    done
done
rm -f read.plan read.layers
echo old >target
ln -s target link
host --trace --trace-file link
{ [ "$status" = 2 ] && [ "$(cat target)" = old ]; } || { [ -h link ] && [ "$(cat target)" != old ]; } ||
    complain "the link was replaced by a file"
rm -f target link
verdict "--trace-file that is a link: written through, or refused"
host -g 2 --output 'same-%r.npy' --trace --trace-file same-1.npy
wants_status 2
verdict "--trace-file that names an output"
rm -f same-?.npy
if [ "$(id -u)" != 0 ]; then
    mkdir locked && chmod 555 locked
    kept 2 "locked/out-0.npy" --input 'g-%r.npy' --output 'locked/out-%r.npy'
    kept 2 "locked/trace" --trace --trace-file locked/trace
    echo old >locked-file && chmod 444 locked-file
    kept 2 "locked-file" --trace --trace-file locked-file
    kept 2 "locked-file" --output locked-file -g 1
    chmod 000 g-1.npy
    kept 2 "g-1.npy" --input 'g-%r.npy'
fi

bad_file() { # TEXT NAME: g-1.npy is refused, by its name
    host --input 'g-%r.npy' --output 'out-%r.npy'
    wants_refusal 2 "g-1.npy"
    case $message in *"$1"*) ;; *) complain "says '$message', without '$1'" ;; esac
    wants_files 'g-0.npy g-1.npy g-2.npy'
    rm -f out-?.npy
    verdict "bad file: $2"
}
header() { npy_raw g-1.npy 1 "$1" "$(pattern '<f4' 3 1 8)"; }
typed() { npy g-1.npy "$1" "$2" "$(pattern '<f4' 3 1 8)"; }
clear_folder
for r in 0 1 2; do
    npy_raw g-$r.npy 1 "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 4), }" \
        "$(pattern '<f4' 3 $r 8)"
done
host --input 'g-%r.npy'
wants_refusal 2 Fortran
case $message in *g-0.npy*) ;; *) complain "does not name the file" ;; esac
verdict "bad file: Fortran order"
three '<f4' '(8,)' 8
typed '<f4' '(2, 4)' && bad_file '(2, 4)' "another shape"
npy g-1.npy '<f4' '(9,)' "$(pattern '<f4' 3 1 9)" && bad_file '(9,)' "another count"
typed '<i4' '(8,)' && bad_file int32 "another type, int32"
npy g-1.npy '<f8' '(8,)' "$(pattern '<f8' 3 1 8)" && bad_file float64 "another type, float64"
typed '>f4' '(8,)' && bad_file big-endian "big-endian float32"
typed '>i4' '(8,)' && bad_file big-endian "big-endian int32"
for type in '<V2' '<i8' '|u1' '<c8' '|O' '<U3' f float32; do
    typed "$type" '(8,)' && bad_file "$type" "type $type"
done
header "{'descr': '<f4', 'fortran_order': False, }" && bad_file shape "no shape"
header "{'fortran_order': False, 'shape': (8,), }" && bad_file descr "no descr"
header "{'descr': '<f4', 'shape': (8,), }" && bad_file fortran_order "no fortran_order"
header "{'descr': '<f4', 'fortran_order': False, 'shape': (-8,), }" && bad_file -8 "negative shape"
header "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }" &&
    bad_file shape "a shape beyond 64 bits"
header "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (8,), }" && bad_file '' "a record"
header "no dictionary" && bad_file '' "a header that is no dictionary"
npy g-1.npy '<f4' '(8,)' "$(pattern '<f4' 3 1 7)" && bad_file truncated "truncated data"
npy g-1.npy '<f4' '(8,)' '' && bad_file truncated "no data"
npy g-1.npy '<f4' '(8,)' "$(pattern '<f4' 3 1 9)" && bad_file 'too many' "data that go on"
typed '<f4' '(8,)' && head -c 40 g-1.npy >x && mv x g-1.npy && bad_file truncated "truncated header"
printf '\223NUMPY' >g-1.npy && bad_file truncated "nothing but the magic"
: >g-1.npy && bad_file empty "empty"
printf 'PK\003\004this is a zip file, perhaps' >g-1.npy && bad_file .npy "a zip file"
printf '\223NUMPY\011\000\166\000' >g-1.npy && bad_file 9.0 "version 9.0"
rm g-1.npy && mkdir g-1.npy && bad_file directory "a folder" && rmdir g-1.npy
ln -s g-1.npy g-1.npy && bad_file link "a link to itself" && rm g-1.npy

# ---- pipes, full disks and size limits ----------------------------------------------------------

clear_folder
for arguments in '--backend host' '--backend host --trace' '--backend host --trace=json' '--help' \
    'plan -g 4' 'doctor' '--version' 'plan -g 64'; do
    [ -c /dev/full ] || continue
    # shellcheck disable=SC2086
    "$demo" $arguments >/dev/full 2>"$top/err" </dev/null
    status=$?
    : >"$top/out"
    case $arguments in
    *json) grep -v '^ring_demo: note:' "$top/err" >"$top/rest"; mv "$top/rest" "$top/err" ;;
    esac
    wants_refusal 3 "standard output"
    verdict "a full disk behind stdout: $arguments"
done
for arguments in '--backend host -g 64 --trace' '--backend host -g 16 --trace=json' 'plan -g 64'; do
    # shellcheck disable=SC2086
    "$demo" $arguments 2>"$top/err" </dev/null | head -1 >"$top/out"
    [ "$(wc -l <"$top/out")" = 1 ] || complain "head -1 gets nothing"
    [ "$(grep -vc '^ring_demo: note:' "$top/err")" -le 1 ] || complain "$(wc -l <"$top/err") lines on stderr"
    verdict "a closed pipe: $arguments"
    # shellcheck disable=SC2086
    (trap '' PIPE; "$demo" $arguments 2>"$top/err" </dev/null) | head -1 >/dev/null
    [ "$(grep -vc '^ring_demo: note:' "$top/err")" -le 1 ] || complain "$(wc -l <"$top/err") lines on stderr"
    verdict "a closed pipe, SIGPIPE ignored: $arguments"
done
"$demo" --backend host --trace >&- 2>"$top/err" </dev/null
status=$?
wants_status 3
verdict "closed stdout"
host --trace --trace-file t
wants_status 0
wants_files t
host --trace
wants_same "$top/out" t "the file is not what stdout gets"
verdict "--trace-file holds the trace"

host_limited() { (ulimit -f 4; "$demo" --backend host "$@"); }
limited() { # a limit on the size of files stands for a full disk
    { host_limited "$@" >"$top/out" </dev/null; } 2>"$top/err" # the shell may speak, too
    status=$?
    wants_status 3
    wants_files 'out-0.npy'
    [ "$(cat out-0.npy)" = precious ] || complain "out-0.npy was overwritten"
    verdict "file size limit: $*"
}
clear_folder
echo precious >out-0.npy
limited -g 2 -c 100000 --output 'out-%r.npy'
clear_folder
echo precious >out-0.npy
limited -g 8 --trace=json --trace-file t
clear_folder
echo precious >out-0.npy
limited -g 2 --trace=html --trace-file t

# Ended from outside in the middle of the work: no temporary stays. (Passed over if it was quicker.)
clear_folder
"$demo" --backend host -g 64 --trace=json --repeat 3 --trace-file t >/dev/null 2>&1 &
pid=$!
while kill -0 $pid 2>/dev/null && [ -z "$(ls -A)" ]; do :; done
kill $pid 2>/dev/null
wait $pid 2>/dev/null
if [ ! -e t ]; then
    wants_files ''
    verdict "ended by a signal: no temporary is left"
fi

# ---- bench -------------------------------------------------------------------------------------

# bench ARGS..: on simulated GPUs; rows without '#' in $top/rows. The first line says that times are
# a model's; every row's rates follow from its size and time, and no element is wrong.
bench() { # RANKS ARGS..
    n=$1
    shift
    run bench --backend host -g "$n" --json bench.json "$@"
    wants_status 0
    wants_silence
    head -1 "$top/out" | grep -q '^# times are MODELLED' || complain "$(head -1 "$top/out")"
    grep -v '^#' "$top/out" >"$top/rows"
    [ -s "$top/rows" ] || complain "there is no row"
    awk -v n="$n" '
        function near(a, b) { return a - b < 0.02 + b / 100 && b - a < 0.02 + b / 100 }
        $13 != 0 { print "row " NR ": " $13 " wrong elements"; exit 1 }
        $10 > 0 && !near($11, $1 / $10 / 1e3) { print "row " NR ": algbw " $11; exit 1 }
        n > 1 && !near($12, $11 * 2 * (n - 1) / n) { print "row " NR ": busbw " $12; exit 1 }
        n == 1 && $12 != "n/a" { print "row " NR ": busbw " $12 " of one rank"; exit 1 }
        ' "$top/rows" >"$top/why" || complain "$(cat "$top/why")"
}
# The same numbers in the JSON file as in the table: sizes, times, engines.
same_in_json() {
    awk '{ printf "%s %d %d %.2f %.2f %d\n", $14, $1, $2, $10, $12 == "n/a" ? 0 : $12, $18 }' \
        "$top/rows" >"$top/table"
    sed -n 's/^{"engine":"\([a-z]*\)"/\1 /p' bench.json | awk '
        function of(name) {
            if (!match($0, "\"" name "\":[^,}]*")) return 0
            return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3)
        }
        { printf "%s %d %d %.2f %.2f %d\n", $1, of("size_bytes"), of("count"), of("time_us"),
          of("busbw_GBps"), of("memory_bytes") }' | cmp -s - "$top/table" ||
        complain "bench.json says something else than the table"
    if [ -n "$python" ]; then
        $python -c 'import json, sys; assert json.load(open("bench.json"))["rows"]' 2>"$top/why" ||
            complain "$(tail -1 "$top/why")"
    fi
}
clear_folder
for n in 1 2 3 4 5 8; do
    bench $n -e 256K
    same_in_json
    [ "$(awk '{ print $14 }' "$top/rows" | sort | uniq -c | tr -s ' \n' ' ')" = " 5 eager 5 graph " ] ||
        complain "not five rows of each engine"
    verdict "bench -g $n"
done
bench 1 -e 1K
wants_line 'busbw is n/a: a single rank sends nothing' "$top/out"
verdict "bench -g 1 says why there is no busbw"
bench 3 -b 1003 -e 1003
same_in_json
awk '$1 != 1000 || $2 != 250 { exit 1 }' "$top/rows" || complain "$(cat "$top/rows")"
verdict "bench: bytes that are no whole elements"
bench 2 -b 8 -e 40 -i 16 -d double --engine eager
[ "$(awk '{ print $1 }' "$top/rows" | tr '\n' ' ')" = "8 24 40 " ] || complain "$(cat "$top/rows")"
verdict "bench -i"
for arguments in '-d int32 -o avg' '-d int -o prod' '-d float32 -o avg' '-o max --pieces 3 --slots 1' \
    '-n 1 -w 0' '--engine graph,eager --link pcie4' '-d float64 -o min -n 3' '-d half' \
    '-d float16 -o avg' '-d bfloat16 -o prod'; do
    # shellcheck disable=SC2086
    bench 3 -b 1200 -e 64K $arguments
    same_in_json
    verdict "bench $arguments"
done
for type in float double half bfloat16 int32; do
    bench 2 -b 1000 -e 1000 -d $type --engine eager
    awk -v type=$type '$3 != type { exit 1 }' "$top/rows" || complain "$(cat "$top/rows")"
    verdict "bench: the type is called $type, as in nccl-tests"
done
bench 2 -b 8M -e 32M -f 2
for pieces in eager:8388608:1 graph:8388608:1 eager:16777216:1 graph:16777216:2 eager:33554432:2; do
    size=${pieces#*:}
    grep "\"engine\":\"${pieces%%:*}\".*\"size_bytes\":${size%:*}," bench.json |
        grep -q "\"pieces\":${pieces##*:}," || complain "not $pieces"
done
verdict "bench chooses the pieces by size"
bench 2 -b 16M -e 16M -n 1
verdict "bench -n 1: one ring in more pieces for the graph than for eager"
run bench --backend host --devices 0,0,1 -e 4K
wants_status 0
wants_line 'note: 3 ranks share 2 simulated GPUs' "$top/out"
[ "$(grep -c '^ .*  shared$' "$top/out")" = 4 ] || complain "not every row is marked"
verdict "bench: shared devices are marked"
run bench --backend host -b 512 -c 0
wants_status 0
wants_line '# wrong elements: not looked for (-c 0)' "$top/out"
grep -v '^#' "$top/out" | awk '$13 != "N/A" { exit 1 }' || complain "$(grep -v '^#' "$top/out")"
verdict "bench -c 0"
run bench --backend host -b 128G -e 128G -c 0 -g 2
wants_status 0
verdict "bench: a model needs no memory"

host_bench_refused() {
    want=$1
    text=$2
    shift 2
    refused "$want" "$text" bench --backend host "$@"
}
host_bench_refused 2 "the smallest size is larger than the largest" -b 2K -e 1K
host_bench_refused 2 "-b 2: one float32 takes 4 bytes" -b 2
host_bench_refused 2 "-i 1: one bfloat16 takes 2 bytes" -b 4 -e 9 -i 1 -d bfloat16
host_bench_refused 2 "sizes never come from" -f 1
host_bench_refused 2 "float, double, half, bfloat16 or int32 is wanted" -d float8
host_bench_refused 2 "one bfloat16 takes 2 bytes" -b 1 -d bfloat16
host_bench_refused 2 "eager, graph, kernel, auto or nccl are wanted" --engine kernels
host_bench_refused 2 "--engine '': eager, graph, kernel" --engine ''
host_bench_refused 2 "--fit '': the name of a file" --fit ''
host_bench_refused 2 "--json -: the table is on standard output" --json -
host_bench_refused 3 "--engine kernel: the ring's kernel runs on GPUs" --engine kernel
bench 2 -b 1K -e 1K --engine auto
wants_status 0
grep -q 'auto .* eager$' "$top/rows" || complain "no row of auto that is eager"
verdict "bench --engine auto on simulated GPUs"
host_bench_refused 3 "--engine nccl: NCCL runs on GPUs" --engine eager,nccl
host_bench_refused 2 "from 0 to 1 is wanted" -c 2
host_bench_refused 2 "from 1 to 100000 is wanted" -n 0
host_bench_refused 2 "bytes are wanted" -b 1T
host_bench_refused 2 "the name of a file" --json ''
host_bench_refused 2 "cannot be written" --json none/bench.json
host_bench_refused 2 "--count is not an option of this command" --count 5
host_bench_refused 2 "--trace is not an option of this command" --trace
refused 2 "--minbytes is not an option of this command" -b 5

# bench --fit of a model gives it back: the file, and the predictions, are those of the file's model.
clear_folder
cat >own.link <<'END'
link 1
copy_latency    3000 ns
copy_rate       40 GB/s
kernel_latency  1500 ns
memory_rate     1000 GB/s
queue_copy      4000 ns
queue_kernel    3000 ns
queue_record    800 ns
queue_wait      500 ns
queue_graph     350 ns
wait_latency    1200 ns
graph_launch    7000 ns
graph_edge      900 ns
graph_wait      600 ns
add_takes       85 %
END
numbers() { sed 's/ *#.*//; /^$/d; s/  */ /g' "$1"; }
run bench -g 2 --link own.link --fit back.link --json fit.json
wants_status 0
wants_silence
wants_line 'link own.link was fitted' "$top/out"
numbers own.link >want
numbers back.link >got
wants_same want got "the numbers are not those that were fitted: $(diff want got | head -3)"
grep -v '^#' "$top/out" | awk '$(NF - 1) + 0 > 0.1 || $(NF - 1) + 0 < -0.1 || $NF + 0 <= 0 || $NF != $(NF - 2) { exit 1 }' ||
    complain "$(grep -v '^#' "$top/out")"
[ "$(grep -c '^  ring ' "$top/out") $(grep -c '^  overlap ' "$top/out")" = '22 2' ] ||
    complain "there are not 22 rows of rings and 2 of overlap"
# The file has the model that was fitted, and the rows of the table.
awk '!/^#/ && NF { name = $1 "_" ($3 == "GB/s" ? "GBps" : $3 == "%" ? "percent" : $3)
                   if (name != "link_") printf "%s\"%s\":%s", n++ ? "," : "", name, $2 }' own.link |
    grep -qFf - fit.json || complain "another model in fit.json: $(head -c 900 fit.json)"
grep -v '^#' "$top/out" | awk '{ print $1, $(NF - 4), $(NF - 3), $(NF - 2), $NF }' >want
sed -n 's/^{"what":"\([a-z]*\)","engine":"\([a-z]*\)".*"predicted_us":\([0-9.]*\),"measured_us":\([0-9.]*\),"median_us":\([0-9.]*\),.*/\1 \2 \3 \4 \5/p' \
    fit.json | awk '{ printf "%s %s %.2f %.2f %.2f\n", $1, $2, $3, $4, $5 }' >got
wants_same want got "fit.json says something else than the table: $(diff want got | head -3)"
[ "$(grep -c '"what":"ring",.*"size_bytes"' fit.json)" = 22 ] || complain "sizes are missing"
if [ -n "$python" ]; then
    $python -c 'import json, sys; assert len(json.load(open("fit.json"))["rows"]) == 24' ||
        complain "fit.json is no JSON"
fi
wants_files 'back.link fit.json got own.link want'
rm fit.json
verdict "bench --fit gives the model back"
for command in 'ring' 'overlap --times-only' 'bench -e 1K'; do
    # shellcheck disable=SC2086
    run $command -g 2 --link own.link
    wants_status 0
    flatten
    wants_line 'own.link: 3 us + bytes / 40 GB/s'
    verdict "$command --link FILE names the file"
done
run bench -g 2 -b 1K -e 1K --link own.link
# 20 all-reduces of 4 copies and 2 adds, each with a record: 26.8 us, and at least one wait
grep ' eager ' "$top/out" | awk '$10 > 26.8 { found = 1 } END { exit !found }' ||
    complain "queueing costs nothing: $(grep ' eager ' "$top/out")"
# launch, three ops, two edges with waits: 7 + (3 + .013) x 2 + 1.5 + .002 + 2 x (.9 + .6) us; and,
# once in 20, the first op to launch: .35 us
grep ' graph ' "$top/out" | awk '$10 == 17.55 { found = 1 } END { exit !found }' ||
    complain "a graph's time is not as by hand: $(grep ' graph ' "$top/out")"
verdict "bench --link FILE: what queueing costs, and a graph"
# Of 2 ranks a ring is 4 copies and 2 adds, each with a record, and, behind another ring, 6 waits:
# (4 x 4 + 2 x 3 + 6 x .8 + 6 x .5) / 6 us. Of 4: 24, 12 and 44 waits.
for want in '2 4.967' '4 5.078'; do
    set -- $want
    run bench -g "$1" -e 1K --link own.link --json bench.json
    wants_line "# queueing: eager $2 us per op, graph 0.350 us per op (the model's)" "$top/out"
    grep -q "\"queueing_us_per_op\":{\"eager\":${2%?}[0-9]*,\"graph\":0.35}" bench.json ||
        complain "not in the JSON: $(head -c 400 bench.json)"
done
rm -f bench.json
verdict "bench tells what queueing an op costs"
run bench -g 2 -e 1K --backend host --engine graph
wants_line "# queueing: graph 0.000 us per op (the model's)" "$top/out"
run bench -g 1 -e 1K --link own.link
wants_line 'times are what queueing costs' "$top/out"
if grep -q '^# queueing' "$top/out"; then complain 'a single rank has ops'; fi
run bench -g 129 -b 1K -e 1K -n 1 -c 0 --link own.link
wants_status 0
if grep -q '^# queueing' "$top/out"; then complain 'rings of 129 ranks were queued'; fi
verdict "bench: queueing of an engine alone, and of one rank"
refused 2 "--fit own.link: would overwrite the input own.link" bench -g 2 --link own.link --fit own.link
refused 2 "name of a file with a dot" bench --backend host --fit nodot
refused 2 "cannot be written" bench --backend host --fit none/a.link
refused 2 "--json a.link: is the file of --fit" bench --backend host --fit a.link --json a.link
refused 2 "--json own.link: would overwrite the input own.link" bench -g 2 --link own.link --json own.link
refused 2 "cannot be written" bench --backend host --fit a.link --json none/a.json
refused 2 "--check with --fit: it would change nothing" bench --backend host --fit a.link -c 1
refused 2 "ranks: 16, pieces: 1, times: 100000: 7.2e+07 ops are more" \
    bench --backend host -g 16 -n 100000 --fit a.link
sed 's/^queue_graph .*/queue_graph 4000000 ns/' own.link >slow.link
refused 3 "--fit: graph_wait cannot be fitted: launching a graph of 6 ops takes the host 2.4e+04 us (queue_graph: 4000 us for each)" \
    bench -g 2 --link slow.link --fit a.link
rm slow.link
refused 2 "--overlap with --fit: one compares engines, the other fits" bench --overlap --fit a.link
refused 3 "one rank copies to nobody" bench --backend host -g 1 --fit a.link
refused 2 "ranks 0 and 2 share device 0" bench --backend host --devices 0,1,0 --fit a.link
echo 'copy_latency 1 ns' >bad.link
for command in ring overlap bench; do
    refused 2 "--link bad.link:1: 'copy_latency': the first line is wanted to be 'link 1'" \
        $command --backend host --link bad.link
done
wants_files 'back.link bad.link got own.link want'
verdict "bench --fit: a refusal leaves no file"

# What was measured before an error stays, in the table and in the file.
clear_folder
run bench --backend host -g 2 -b 1K -i 1048576G -e 1048577G --json bench.json
wants_status 3
wants_line 'are free' "$top/err"
[ "$(grep -vc '^#' "$top/out")" = 2 ] || complain "the first size's rows are not there"
wants_line '# ended early: 2 simulated GPUs need' "$top/out"
wants_line '"ended_early":"2 simulated GPUs need' bench.json
[ "$(grep -c '"size_bytes":1024,' bench.json)" = 2 ] || complain "they are not in the file"
verdict "bench: too large a size, behind one that fits"
if [ -e /dev/full ]; then
    run bench --backend host -e 1K --json /dev/full
    wants_status 3
    wants_line '/dev/full' "$top/err"
    verdict "bench --json on a full disk"
fi

# Standard output that takes no more ends it, by the signal or with the reason; what was asked for
# by name is whole. Each of these would go on for long. (Whoever runs this may have us ignore SIGPIPE.)
(yes 2>/dev/null; echo $? >"$top/by_signal") | :
for args in '-g 8 -b 4 -i 4 -e 64M' '-g 8 -b 4 -i 4 -e 64M --fit a.link' '--overlap -g 32'; do
    for how in 141 3 full; do
        clear_folder
        [ $how != full ] || [ -c /dev/full ] || continue
        [ $how != 141 ] || [ "$(cat "$top/by_signal")" = 141 ] || continue
        # shellcheck disable=SC2086
        case $how in
        full) "$demo" bench --backend host --json f.json $args >/dev/full 2>"$top/err"; echo $? >code ;;
        *) (
            [ $how = 141 ] || trap '' PIPE
            "$demo" bench --backend host --json f.json $args 2>"$top/err"
            echo $? >code
        ) | sed -n '/^[^#]/{p;q;}' >row ;;
        esac
        status=$(cat code)
        : >"$top/out"
        why='standard output: could not be written whole: '
        case $how in
        141) wants_status 141; wants_silence; why="${why}Broken pipe" ;;
        3) why="${why}Broken pipe"; wants_refusal 3 "$why" ;;
        full) why="${why}No space left on device"; wants_refusal 3 "$why" ;;
        esac
        wants_line "\"ended_early\":\"$why\"" f.json
        [ "$(tail -1 f.json)" = ']}' ] || complain "f.json is not whole"
        [ $how = full ] || [ "$(grep -c '^{' f.json)" -gt 1 ] || complain "f.json lacks the row that was read"
        case $args in *a.link) [ "$(grep -c '^add_takes' a.link)" = 1 ] || complain "a.link is not whole" ;; esac
        verdict "bench $args: $how"
    done
done

# Ended from outside: the rows so far stay, and the file is whole.
clear_folder
"$demo" bench --backend host -g 8 -b 4 -i 4 -e 64M --json bench.json >rows 2>"$top/err" &
pid=$!
while kill -0 $pid 2>/dev/null && [ "$(grep -vc '^#' rows)" -lt 4 ]; do :; done
kill -TERM $pid 2>/dev/null
wait $pid
[ $? = 143 ] || complain "it did not end by the signal"
wants_line '# ended early: interrupted' rows
wants_line '"ended_early":"interrupted"' bench.json
[ "$(grep -vc '^#' rows)" = "$(grep -c '"engine"' bench.json)" ] || complain "rows differ in number"
wants_files 'bench.json rows'
verdict "bench: ended by a signal, the rows so far stay"

# ---- odd corners -------------------------------------------------------------------------------

host -g 1 --repeat 50 --trace -c 4
wants_right
verdict "one rank, fifty times, traced"

clear_folder
if mkfifo pipe 2>/dev/null; then
    cat pipe >got &
    host -g 2 -q --trace-file pipe
    wait
    wants_status 0
    wants_line 'step s=1 (2 of 2), all-gather' got
    verdict "a pipe as trace file"
    timeout --foreground 1 "$demo" --backend host -g 2 -q --trace-file pipe >/dev/null 2>&1
    [ $? = 124 ] || complain "a pipe that nobody reads cannot be left by a signal"
    verdict "a pipe that nobody reads"
fi

clear_folder
host -q -g 1 --output t --trace-file ./t
wants_refusal 2 "is an --output file"
wants_files ''
verdict "refused: one file under two names"

clear_folder
host --trace-file /dev/stdout -g 2 -q
wants_status 0
flatten
wants_line 'step s=0 (1 of 2), scatter-reduce'
wants_line 'all ranks bit-identical yes'
verdict "/dev/stdout as trace file"

clear_folder
(ulimit -n 128 && exec "$demo" --backend host -g 160 -c 320 -q --output 'o-%r.npy') >"$top/out" 2>"$top/err"
status=$?
wants_status 0
[ "$(ls | grep -c "^o-.*npy\$")" = 160 ] || complain "there are not 160 files"
verdict "more outputs than open files are allowed"

printf 'x' >"$(printf 'g\377-0.npy')" 2>/dev/null # not UTF-8: some file systems refuse it
if [ -e "$(printf 'g\377-0.npy')" ]; then
    rm -f ./*.npy
    npy_raw "$(printf 'g\377-0.npy')" 1 "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }" '\0\0\0\0'
    host --trace=json --input "$(printf 'g\377-%%r.npy')"
    wants_status 0
    wants_line 'g\ufffd-' "$top/out"
    verdict "json: a file name that is no UTF-8"
fi

refused 2 "nvlink4" --link ' 25:1'
refused 2 "nvlink4" --link 0x10:0x1
refused 2 "take less" plan -g 40 -c 1 --pieces 4096 --slots 4096
refused 2 "take less" plan -g 2 -c 268435455G --slots 4096

finish
