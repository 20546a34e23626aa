#!/bin/sh
# test_cli_overlap.sh - ring_demo overlap as its user meets it. (cli.sh: what it is written with)
# shellcheck source=tests/cli.sh
. "$(dirname "$0")/cli.sh"

for args in '' '--no-overlap' '-g 1' '-g 2 --slow rank=1:3x' '-g 3 --bucket-rule one' \
    '-g 5 --bucket-cap-mb 7' '--model mlp -g 3 --first-bucket-mb 0.5 -d float64 -o sum' \
    '--layers 7x4KiB -g 4 --pieces 2 --schedule random:3' '--backward-us 5' \
    '-g 3 --engine graph'; do
    # shellcheck disable=SC2086
    run overlap --backend host $args
    wants_right
    wants_line '(overlapped and serial)'
    wants_line 'so it is'
    verdict "overlap $args"
done
run overlap --backend host -g 3 --engine graph
sed 's/engine .*/engine/' "$top/out" >graph
run overlap --backend host -g 3
sed 's/engine .*/engine/' "$top/out" | cmp -s - graph || complain "not what eager says"
verdict "overlap --engine graph has the bits and the modelled times of eager"
refused 3 "--engine nccl: NCCL runs on GPUs, and these are simulated" \
    overlap --backend host --engine nccl
refused 2 "eager, graph, kernel, nccl or auto is wanted" overlap --engine kernels
refused 3 "--engine kernel: the ring's kernel runs on GPUs, and these are simulated" \
    overlap --backend host --engine kernel
refused 2 "--sweep-cap with --engine kernel" overlap --backend host --engine kernel --sweep-cap 1,25
run overlap --backend host -g 2 --engine auto
flatten
wants_status 0
wants_line 'engine eager (op by op; auto takes it: copy engines leave the processors to the backward'
verdict "overlap --engine auto is eager, and says why"
refused 2 "it is for overlap and bench" ring --engine nccl
for args in --trace --trace=json --quiz '--sweep-cap 1' '--pieces 1' '--slots 2' '--p2p off'; do
    # shellcheck disable=SC2086
    refused 2 "with --engine nccl" overlap --engine nccl $args
done
# The columns of bench --overlap on simulated GPUs: no iteration beats the ideal, and none takes
# longer than compute and communication one after the other, and the optimizer.
for args in '-g 2' '-g 4 --pieces 1' '-g 3 --model resnet18' '--layers 8x1MiB --bucket-cap-mb 2'; do
    # shellcheck disable=SC2086
    run bench --overlap --backend host --json compare.json $args
    wants_status 0
    wants_line 'times are MODELLED' "$top/out"
    wants_line 'left out: nccl: NCCL runs on GPUs' "$top/out"
    awk '/^#/ { next }
         { n++; asked[n] = $2; comm = $4
           if (NF != 15 || $6 $7 $9 $11 $12 $13 $14 != "n/an/an/an/an/an/an/a") bad = "columns: " $0
           if ($4 != $5 || $8 != $10) bad = "graph is not as eager: " $0
           if ($3 < $2 - 0.1) bad = "compute is shorter than asked: " $0
           if ($8 < $15 - 0.2 || $8 > $3 + $4 + $15 - ($3 > $4 ? $3 : $4) + 0.2) bad = "iteration: " $0 }
         END { if (n != 3) bad = n " rows"
               for (i = 1; i <= 3; i++) { r = asked[i] / comm - (i == 1 ? 0.75 : i == 2 ? 1 : 1.5)
                   if (r < -0.01 || r > 0.01) bad = "backward " i " is " asked[i] }
               if (bad) print bad }' "$top/out" >"$top/why"
    [ -s "$top/why" ] && complain "$(cat "$top/why")"
    awk '!/^#/ { print $2, $3, $15, $4, $8, $5, $10 }' "$top/out" >want
    grep '^{"bound":"modelled"' compare.json | sed 's/[^0-9.,]//g; s/,,*/ /g' | awk '
        { printf "%.1f %.1f %.1f %.1f %.1f %.1f %.1f\n", $1, $2, $3, $4, $5, $8, $9 }' >got
    wants_same want got "compare.json says something else than the table: $(diff want got | head -3)"
    verdict "bench --overlap $args"
done
run bench --overlap --backend host --engine graph
[ "$(awk '!/^#/ && $4 == "n/a" && $8 == "n/a" && $5 > 0 && $10 > 0' "$top/out" | grep -c .)" = 3 ] || complain "eager was not left out"
verdict "bench --overlap --engine"
# Ended from outside: while a row is measured, and in the middle of the first plan, which is so large
# that all of it takes many times the seconds that are left here.
for args in '-g 32 --json row.json' '-g 128 --json plan.json'; do
    # shellcheck disable=SC2086
    "$demo" bench --overlap --backend host $args >rows 2>"$top/err" &
    pid=$!
    case $args in
    *plan.json) sleep 1 ;;
    *) while kill -0 $pid 2>/dev/null && ! grep -q '^(modelled)' rows; do :; done ;;
    esac
    kill -TERM $pid 2>/dev/null
    (sleep 4; kill -KILL $pid) 2>/dev/null &
    wait $pid
    status=$?
    kill $! 2>/dev/null
    wants_status 143
    wants_line '# ended early: interrupted' rows
    wants_line '"ended_early":"interrupted"' "${args##* }"
    [ "$(grep -vc '^#' rows)" = "$(grep -c '"bound"' "${args##* }")" ] || complain "rows differ in number"
    [ "$(grep -c 'interrupted$' "$top/err")" = 1 ] || complain "stderr says $(head -c 200 "$top/err")"
    verdict "bench --overlap $args: ended by a signal, the rows so far stay"
done
rm -f rows row.json plan.json
refused 3 "--engine nccl: NCCL runs on GPUs" bench --overlap --backend host --engine eager,nccl
refused 2 "a single rank sends nothing" bench --overlap --backend host -g 1
refused 2 "--link 0.001:1: too slow for these gradients: communication takes" \
    bench --overlap --backend host -g 2 --link 0.001:1
refused 2 "a link 40 times as fast, or less to send (--layers), is wanted" \
    bench --overlap --backend host -g 2 --link 0.001:1 --json never.json
run bench --overlap --backend host -g 2 --link 0.04:1
wants_status 0
verdict "bench --overlap: what a slow link's refusal wants is enough"
cat >free.link <<'END'
link 1
copy_latency 0 ns
copy_rate 1000000 GB/s
kernel_latency 0 ns
memory_rate 1000000 GB/s
queue_copy 0 ns
queue_kernel 0 ns
queue_record 0 ns
queue_wait 0 ns
wait_latency 0 ns
graph_launch 0 ns
graph_edge 0 ns
END
refused 2 "communication takes no time" bench --overlap --backend host -g 2 --layers 2x4B --link free.link
refused 2 "--minbytes with --overlap" bench --overlap -b 4
refused 2 "cannot be written" bench --overlap --backend host --json none/a.json
refused 2 "--layers with a table of sizes" bench --layers 4x1MiB
refused 2 "gradients are floats" bench --overlap --backend host -d int32
# tests/ddp.py without a GPU, or without torch: one line, and the status of a machine that cannot.
if python=$(command -v python3); then
    CUDA_VISIBLE_DEVICES='' $python "$OLDPWD/tests/ddp.py" --backward-us 9 >"$top/out" 2>"$top/err"
    [ $? = 3 ] || complain "not exit status 3"
    [ "$(grep -c '^ddp.py: ' "$top/err")" = 1 ] && [ ! -s "$top/out" ] || complain "not one line"
    verdict "tests/ddp.py says why it cannot run"
fi
run overlap --backend host --model gpt2 -g 8 --times-only
wants_status 0
wants_line 'moves no data' "$top/out"
verdict "overlap --times-only"
run overlap --model resnet50 --explain
wants_status 0
[ "$(grep -c 'bytes, together' "$top/out")" = 161 ] || complain "not every tensor is told"
verdict "overlap --explain"
printf 'a.weight 5\na.bias 1 # one\nb 7 1e9\n' >layers
run overlap --backend host --layers layers -g 2
wants_right
verdict "overlap --layers FILE"
run overlap --backend host --sweep-cap 1,25 -g 2
wants_status 0
[ "$(grep -c '^ *[0-9][0-9.]*  *[0-9]*  *[0-9]*  *[0-9.]*  *[0-9.]*$' "$top/out")" = 2 ] || complain "there are not two lines"
verdict "overlap --sweep-cap"
run overlap --backend host --model mlp --trace=json
wants_status 0
[ "$(grep -c '"kind":"update"' "$top/out")" = 4 ] || complain "there are not four optimizers"
verdict "overlap --trace=json"
for slow in '' '--no-overlap' '--slow rank=1:3x'; do
    # shellcheck disable=SC2086
    run overlap --backend host --model mlp -g 3 --trace=json $slow
    wants_status 0
    awk -v slow="$slow" 'function field(name,  t) {
             if (!match($0, "\"" name "\":-?[0-9.]+")) return "none"
             t = substr($0, RSTART, RLENGTH); sub(/.*:/, "", t); return t + 0
         }
         /"type":"header"/ {
             if (/"overlapped":true/ != (slow != "--no-overlap")) bad = "overlapped or not is not told"
             if (/"slow":"rank 1 computes 3 times as long"/ != (slow ~ /rank/)) bad = "slow is not told"
             if (!/"model":"mlp"/ || !/"layers":\[\{"layer":0,"name":"linear_relu_stack.0"\}/) bad = "no layers"
             all = field("count") * 4
             while (match($0, /"bucket":[0-9]+,"bytes":[0-9]+/)) {
                 t = substr($0, RSTART, RLENGTH); $0 = substr($0, RSTART + RLENGTH)
                 sub(/.*:/, "", t); sum += t; n++
             }
             if (n != 2 || sum != all) bad = n " buckets of " sum " bytes"
         }
         /"type":"summary"/ {
             if (/algbw/) bad = "a rate over an iteration"
             while (match($0, /"compute_us":[^}]*/)) {
                 figures = substr($0, RSTART, RLENGTH); rest = substr($0, RSTART + RLENGTH)
                 $0 = figures; ranks++
                 d = field("hidden_us") + field("exposed_us") - field("communication_us")
                 if (d > 0.0005 || d < -0.0005 || field("communication_us") <= 0) bad = figures
                 $0 = rest
             }
             if (ranks != 3) bad = ranks " ranks have figures"
         }
         /"type":"state"/ { bad = "a state, and no second pass" }
         END { print bad; exit bad != "" }' "$top/out" >"$top/why" || complain "$(cat "$top/why")"
    verdict "overlap --trace=json $slow: buckets, layers, figures"
done
run overlap --backend host --model gpt2 -g 8 --times-only --trace=json
wants_status 0
wants_line 'no data moves' "$top/err"
grep -q '"value_right"\|"hash"' "$top/out" && complain "claims that what was not there is right"
wants_line '"holds":"all"' "$top/out"
verdict "overlap --times-only --trace=json"
run overlap --backend host --layers 3x1MiB --bucket-cap-mb 2 -g 3 --trace
wants_right
n=$(grep -c 'rank . adds' "$top/out")
[ "$n" = 12 ] || complain "$n adds are listed, not 2 buckets x 2 steps x 3"
wants_line 'bucket 1 of 2 (B0), 1.0 MiB, 1 tensor' "$top/out"
wants_line 'step s=3 (4 of 4), all-gather' "$top/out"
cp "$top/out" listed
verdict "overlap --trace"
run overlap --backend host --layers 3x1MiB --bucket-cap-mb 2 -g 3 --trace-file told
wants_right
grep -q 'rank . adds' "$top/out" && complain "the list is on standard output, too"
wants_same told listed "the file is not what --trace prints"
verdict "overlap --trace-file"
run overlap --backend host --model resnet18 -g 2 --never-ready layer4.1.conv2.weight
wants_status 1
flatten
wants_line 'stuck layer4.1.conv2.weight never becomes ready on any rank; bucket 1 (12 tensors, 27.5 MiB)'
wants_line 'waits for it; bucket 2 waits for it, since buckets are launched in order'
wants_line 'never becomes ready: the iteration cannot end' "$top/err"
grep -q '^  rank 0   send    .*1' "$top/out" && complain "bucket 1 travels all the same"
grep -q 'yes\|NO' "$top/out" && complain "judges what never ends"
verdict "overlap --never-ready"
run overlap --backend host -g 4 --slow rank=2:3x
awk '$1 == "rank" && NF == 9 && $6 + 0 > 0 {
         n++
         if ($4 != $5 + $6 && ($4 - $5 - $6) ^ 2 > 0.05) bad = "hidden and exposed do not add up"
         if (($6 - $7 - $8 - $9) ^ 2 > 0.05) bad = "causes do not add up"
         if (($2 == 2) != ($7 == 0)) bad = "who waits for the slow rank"
     }
     END { if (n != 4) bad = n " ranks"; print bad; exit bad != "" }' "$top/out" >"$top/why" ||
    complain "$(cat "$top/why")"
verdict "overlap --slow: causes add up, and who waits is told"
run plan --model mlp -g 2
wants_status 0
cp "$top/out" iteration
run check iteration
wants_status 0
verdict "plan --model"
for pair in '--sweep-cap 1 --no-overlap' '--sweep-cap 1 --bucket-cap-mb 2' '--sweep-cap 1 -q' \
    '--sweep-cap 1 --schedule random:1' '--sweep-cap 1 --never-ready layer3' \
    '--sweep-cap 1 --bucket-rule one' '--bucket-cap-mb 2 --bucket-rule one' \
    '--first-bucket-mb 1 --bucket-rule one' '--first-bucket-mb 1 --bucket-rule pytorch-explicit' \
    '--explain --sweep-cap 1' '--explain --trace' '--explain --never-ready layer3' \
    '--explain --no-overlap' '--no-overlap --never-ready layer3' '--trace --sweep-cap 1'; do
    # shellcheck disable=SC2086
    run overlap --backend host $pair
    wants_refusal 2 "${pair%% *}"
    wants_line 'leave one out' "$top/err"
    verdict "overlap $pair"
done
run overlap --model resnet50 --backend host --sweep-cap 10 -g 2
at_10=$(awk '$1 == 10 { print $2, $5 }' "$top/out")
run overlap --model resnet50 --backend host --bucket-cap-mb 10 -g 2
[ "$at_10" = "$(awk '$1 == "buckets" { n = $2 + 0 } $1 == "iteration" { print n, $2 }' "$top/out")" ] ||
    complain "--sweep-cap 10 says $at_10, --bucket-cap-mb 10 another"
verdict "overlap --sweep-cap X is --bucket-cap-mb X"
run overlap --backend host --layers 4x16B -g 2 --sweep-cap 50,25
wants_line 'best: --bucket-cap-mb 50,' "$top/out"
run overlap --backend host --layers 4x16B -g 2 --sweep-cap 0.00001,25
wants_line 'best: --bucket-cap-mb 25,' "$top/out"
verdict "overlap --sweep-cap: the best, and of equals that with fewer launches"
for empty in '--sweep-cap' '--never-ready'; do
    run overlap --backend host "$empty" ''
    wants_refusal 2 "$empty"
    grep -q file "$top/err" && complain "speaks of a file"
    verdict "overlap $empty ''"
done
for model in 'article' 'gpt2 --times-only' 'mlp' 'resnet18' 'resnet50 --bucket-rule one'; do
    # shellcheck disable=SC2086
    run overlap --backend host -g 3 --model $model
    tr -s ' \n' ' ' <"$top/out" >"$top/flat"
    awk 'match($0, /Overlapped takes [0-9.]+/) { r = substr($0, RSTART + 17, RLENGTH - 17) + 0 }
         END { exit !(r >= 1 && r < 1.5) }' "$top/flat" || complain "beats what is called ideal"
    verdict "overlap --model $model: no faster than ideal"
done
run overlap --backend host -g 2 --model resnet18 --slow rank=1:5
wants_line 'us on rank 0, slow rank: another' "$top/out"
run overlap --backend host -g 2 --model gpt2 --times-only
wants_line 'bucket too large: with transformer.wte.weight it is' "$top/out"
wants_line '143.3 MiB beyond its cap' "$top/out"
run overlap --backend host -g 1 --model mlp
grep -q 'links rest' "$top/out" && complain "one rank, and links"
verdict "overlap: why, in the right words"
run overlap --backend host -g 2 --model mlp --schedule random:4
wants_right
wants_line 'each choice counts as 1 us' "$top/out"
grep -q 'times as fast\|exposed\|ideal' "$top/out" && complain "choices are taken for times"
verdict "overlap --schedule random: no times"
run overlap --backend host --times-only --layers 20000x4KiB --bucket-cap-mb 0.001 -g 8
wants_refusal 3 'a larger cap makes fewer'
verdict "overlap: too much to prove"
printf 'a 6\nb 0\n' >zero && run overlap --backend host -g 2 --layers zero
wants_right
wants_line 'tail: bucket 0' "$top/flat"
printf 'a 0\nb 0\n' >zero && run overlap --backend host -g 2 --layers zero
wants_right
verdict "overlap: tensors without elements"
for slow in '-g 4 --slow link=0-2:3' '-g 1 --slow link=0-0:3' '-g 5 --slow link=3-1:3'; do
    # shellcheck disable=SC2086
    host $slow
    wants_refusal 2 '--slow link'
    verdict "$slow: nothing goes there"
done
cp layers read
for args in "--layers read --trace=json --trace-file read" "--layers read --trace-file ./read"; do
    # shellcheck disable=SC2086
    run overlap --backend host $args
    wants_refusal 2 'would overwrite'
    wants_same read layers "the layers are overwritten"
    verdict "overlap $args"
done
for args in '-q' '--init ones' '-g 4' '--link pcie3' '--backward-us 5' '--slow rank=1:3' '--times-only'; do
    # shellcheck disable=SC2086
    run overlap --explain $args
    wants_refusal 2 'with --explain: it would change nothing'
    verdict "overlap --explain $args"
done
for args in '--bug gather-index' '--plan nowhere' '--repeat 2' '-c 100'; do
    # shellcheck disable=SC2086
    run plan --model mlp $args
    wants_refusal 2 'with --model or --layers: it would change nothing'
    verdict "plan --model mlp $args"
done
for args in '--bucket-rule one' '--bucket-cap-mb 3' '--first-bucket-mb 3' '--backward-us 3' \
    '--no-overlap' '--never-ready x' '--slow rank=1:3' '--slow link=0-1:9'; do
    # shellcheck disable=SC2086
    run plan $args
    wants_refusal 2 "${args%% *}"
    verdict "plan $args"
done
for args in '--slow rank=1:3 --slow rank=2:3' '--slow link=0-1:3 --slow link=1-2:3' \
    '--never-ready layer1 --never-ready layer2' '--times-only --init ones'; do
    # shellcheck disable=SC2086
    run overlap --backend host $args
    wants_refusal 2 "${args%% *}"
    verdict "overlap $args"
done
printf 'a 5 6 7\n' >broken && run overlap --backend host --layers broken
wants_refusal 2 "broken:1: found 'a 5 6 7'"
verdict "overlap: what is wrong in a file of layers is quoted whole"
long=$(printf '%060d' 0).layers
cp layers "$long"
for args in '' '--explain' '--sweep-cap 1'; do
    # shellcheck disable=SC2086
    run overlap --layers "$long" $args
    wants_status 0
    awk 'length > 100' "$top/out" | grep -q . && complain "lines of more than 100 columns"
    verdict "overlap --layers LONG $args"
done
run overlap --backend host -g 4 --layers 2x4KiB -d float16 --init values:60000 --op sum
wants_status 0
wants_line 'not finite                 2048 infinite and 0 NaN elements: such is the sum in float16' "$top/out"
verdict "overlap: gradients that overflow are told"
run overlap --backend host --layers 40x1MiB --sweep-cap 5,10 --first-bucket-mb 3
wants_line 'best: --bucket-cap-mb 5 --first-bucket-mb 3,' "$top/out"
verdict "overlap --sweep-cap: the best, with what made it so"
for args in '--sweep-cap 1,x' '--sweep-cap ,' '--sweep-cap 1 --trace' '--never-ready nosuch' '--trace -q' '--compute sometimes' '--model vgg' '--layers nowhere' '--layers 0x4MiB' '--layers 3x5B' '--bucket-rule best' \
    '--bucket-cap-mb 0' '--bucket-cap-mb x' '--slow 1:3' '--slow rank=9:3x' '--slow rank=1:0.5' \
    '--model mlp --layers 2x4B' '-d int32' '--backward-us 0' '--count 8' '--repeat 2' 'resnet18'; do
    # shellcheck disable=SC2086
    run overlap --backend host $args
    wants_refusal 2 ''
    verdict "overlap $args"
done

finish
