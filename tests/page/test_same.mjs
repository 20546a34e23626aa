/* test_same.mjs - the text, the JSON lines, the Perfetto trace and the page of one run hold the same
 * numbers.
 *
 * Each of the four is read by itself, from what a person or a viewer gets to see, into ops by
 * their names, state tables and facts, and all are held against one another. The text tells times
 * to a tenth of a microsecond; the others tell them to the nanosecond. */
import assert from "node:assert/strict";
import {SMALL, jsonOf, open, press, run, runTests, stateTable, test, text} from "./pages.mjs";

const exactly = us => us.toFixed(3);
const inRates = rate => String(+(+rate).toPrecision(4));
const DISTANCE = /^(at most|none.*)/; /* the number is rounded otherwise in each */
const inDigits = value => typeof value !== "number" || Number.isInteger(value) ? String(value)
                                                     : String(+value.toPrecision(7));

/* ---- JSON lines ------------------------------------------------------------------------------------ */

function readJson(args, status) {
  const {header, summary, ops, states} = jsonOf(args, status);
  const told = op => ({rank: op.rank, bytes: op.bytes, begin: exactly(op.begin_us),
    end: exactly(op.end_us), holds: op.holds,
    waits: op.waits.map(wait => `${ops[wait.op].name} ${wait.reason}`)});
  return {header, lines: ops, ops: new Map(ops.map(op => [op.name, told(op)])),
    states: states.map(state => state.cells.map(row => row.map(cell => cell.holds === undefined
      ? "empty" : `${cell.holds}${cell.mixed ? "~" : ""} = ${inDigits(cell.value)}`))),
    facts: {distance: summary.float64_distance === undefined ? undefined
        : summary.float64_distance > 0 ? "at most"
        : summary.n_infinite + summary.n_nan > 0 ? "none, where both are finite" : "none",
      right: summary.value_right, identical: summary.ranks_identical, hash: summary.hash,
      wrong: summary.n_wrong, total: exactly(summary.total_us),
      sent: [summary.sent_bytes_least, summary.sent_bytes_most],
      rates: summary.algbw_GBps && [summary.algbw_GBps, summary.busbw_GBps].map(inRates),
      findings: summary.findings.map(finding => finding.text),
      figures: summary.figures?.map(f => [f.compute_us, f.communication_us, f.hidden_us,
                                          f.exposed_us].map(us => us.toFixed(1)))}};
}

/* ---- Perfetto ---------------------------------------------------------------------------------------- */

function readPerfetto(args, status) {
  const trace = JSON.parse(run(`${args} --trace=perfetto`, status).stdout);
  const slices = trace.traceEvents.filter(event => event.ph === "X");
  const told = ({pid, ts, dur, args: about}) => ({rank: pid - 1, bytes: about.bytes,
    begin: exactly(ts), end: exactly(ts + dur), holds: about.holds, waits: about.waits});
  const sent = new Map(slices.map(slice => [slice.pid, 0]));
  for (const {pid, cat, args: about} of slices)
    if (cat === "copy" && about.from !== about.to) sent.set(pid, sent.get(pid) + about.bytes);
  const other = trace.otherData;
  return {ops: new Map(slices.map(slice => [slice.name, told(slice)])),
    facts: {right: other.result === "right", hash: other.hash,
      total: exactly(Math.max(...slices.map(({ts, dur}) => ts + dur))),
      sent: [Math.min(...sent.values()), Math.max(...sent.values())]},
    refuted: /REFUTED/.test(other.proof)};
}

/* ---- the page ---------------------------------------------------------------------------------------- */

/* The panel of the chosen op. */
const chosenOp = page => page.$eval("#chosen", box => {
  const facts = [...box.querySelectorAll("dt")].map(dt => [dt.textContent,
                                                           dt.nextSibling.textContent]);
  return {name: box.querySelector("h3").textContent, facts};
});

async function readPageOps(page, n) {
  const ops = new Map();
  for (let i = 0; i < n; i++) {
    await press(page, "Shift+ArrowRight");
    const {name, facts} = await chosenOp(page), about = new Map(facts);
    const [begin, end] = about.get("began .. ended").match(/[\d.]*\d/g);
    ops.set(name, {rank: +about.get("to").match(/^rank (\d+)/)[1], bytes: +about.get("bytes"),
      begin, end, holds: about.get("then holds"),
      waits: facts.filter(([key]) => key === "waited for")
        .map(([, words]) => words.match(/^(\S+ \w+) at /)[1])});
    if (about.has("from") && name.includes("copy")) /* it is queued where it comes from */
      ops.get(name).rank = +about.get("from").match(/^rank (\d+)/)[1];
  }
  return ops;
}

async function readPageFacts(page) {
  const facts = new Map(await page.$$eval("#facts dt", names => names.map(
    dt => [dt.textContent, dt.nextSibling.textContent])));
  const chips = (await page.locator("#verdicts li").allInnerTexts()).join("\n");
  const sent = facts.get("sent by a rank").match(/\d+/g).map(Number);
  const rows = await page.$$eval("#figures tr", trs => trs.slice(1).map(tr =>
    [...tr.querySelectorAll("td")].map(td => td.textContent)));
  return {right: /✓ value right/.test(chips), identical: /✓ all ranks identical/.test(chips),
    distance: facts.get("distance to float64")?.match(DISTANCE)[1],
    hash: chips.match(/hash (\w+)/)[1], wrong: +(chips.match(/value wrong: (\d+)/)?.[1] ?? 0),
    total: facts.get("whole run").match(/^[\d.]+/)[0], sent: [sent[0], sent.at(-1)],
    rates: facts.get("rates")?.match(/[\d.e+-]*\d/g).map(inRates),
    findings: await page.locator("#findings button").allInnerTexts(),
    figures: rows.length ? rows : undefined};
}

async function readPage(args, status, like) {
  const page = await open(args, {status}), states = [];
  await press(page, "ArrowRight"); /* from the start to where the first step begins, ... */
  if (parseFloat(await text(page, "#clock")) > 0) await press(page, "Home"); /* ... if it is at 0 */
  for (let i = 0; i < like.states.length; i++) { /* to where a step begins: all before has ended */
    if (i > 0) await press(page, "ArrowRight");
    states.push(await stateTable(page));
  }
  await press(page, "Home");
  const read = {states, ops: await readPageOps(page, like.ops.size), facts: await readPageFacts(page)};
  await press(page, "End");
  read.last = await stateTable(page);
  read.clock = (await text(page, "#clock")).match(/^[\d.]+/)[0];
  await page.finish();
  return read;
}

/* ---- the text ------------------------------------------------------------------------------------------ */

const UNITS = {B: 1, KiB: 1024, MiB: 2 ** 20, GiB: 2 ** 30};
const inBytes = words => parseFloat(words) * UNITS[words.split(" ")[1]];
const KINDS = {adds: "reduce", scales: "scale", updates: "update", refills: "compute",
               computes: "compute"};
const OP = RegExp("^  rank +(?<rank>\\d+) (?:-> rank +\\d+|(?<verb>adds|scales|updates|refills|" +
  "computes)) +(?<part>.*?) *(?:now )?(?<holds>\\S+) +(?<bytes>[\\d.]+ [KMG]?i?B) +" +
  "(?<begin>[\\d.]+) \\.\\. *(?<end>[\\d.]+)(?: +after (?<waits>.*))?$");

/* What tells an op of the text from all others: the text does not name ops. */
const keyOf = ({iteration, bucket, step, kind, rank, segment, piece, layer}) => [iteration || 0,
  ...(kind === "copy" || kind === "reduce" ? [bucket, step] : [, ,]), kind, rank, segment,
  kind === "copy" || kind === "reduce" ? piece || 0 : "", layer].join(" ");

function readTextOps(lines, {header, lines: known}) {
  const names = new Map(known.map(op => [keyOf(op), op.name])), ops = new Map(), at = {};
  lines.forEach((line, i) => {
    const title = line.match(/^iteration \d+(?=, )|^bucket \d+(?= of)|(?<=^|, )step s=\d+/g) || [];
    for (const words of title) {
      const [what, number] = words.match(/iteration|bucket|step|\d+/g);
      at[what] = +number;
    }
    const op = line.match(OP)?.groups;
    if (!op) return;
    if (/^ {20,}after /.test(lines[i + 1])) op.waits = lines[++i].trim().slice("after ".length);
    while (op.waits?.endsWith(",")) op.waits += " " + lines[++i].trim();
    const part = op.part.match(/^segment +(\d+)(?: p(\d+))?$/);
    const name = names.get(keyOf({...at, kind: KINDS[op.verb] ?? "copy", rank: op.rank,
      segment: part?.[1], piece: part?.[2],
      layer: header.layers?.find(layer => layer.name === op.part)?.layer}));
    assert.ok(name && !ops.has(name), `the text tells of an op that is not there, or twice: ${line}`);
    ops.set(name, {rank: +op.rank, bytes: inBytes(op.bytes), begin: op.begin, end: op.end,
                   holds: op.holds, waits: op.waits?.split(", ") ?? []});
  });
  return ops;
}

function readTextStates(lines, ranks) {
  const cells = /^  rank +\d+  (.* = .*|empty.*)$/;
  const rows = lines.filter(line => cells.test(line) && !OP.test(line))
    .map(line => line.match(cells)[1].split(/ {2,}/));
  return Array.from({length: rows.length / ranks}, (_, i) => rows.slice(i * ranks, (i + 1) * ranks));
}

function readText(args, status, json) {
  const output = run(`${args} --trace`, status).stdout, lines = output.split("\n");
  const found = pattern => output.match(pattern)?.slice(1);
  const wrong = found(/value right +NO.*\n +(\d+) element/);
  const sent = found(/bytes sent by each rank +([\d.]+ \w+)(?: to ([\d.]+ \w+))?/)?.map(
    words => words && inBytes(words));
  return {ops: readTextOps(lines, json), states: readTextStates(lines, json.header.ranks),
    output: output.replace(/\s+/g, " "), facts: {right: /value right +yes/.test(output),
      identical: /all ranks bit-identical +yes/.test(output),
      distance: found(/distance to float64 +(.*)/)?.[0].match(DISTANCE)[1],
      hash: found(/hash of the result +(\w+)/)[0], wrong: wrong ? +wrong[0] : 0,
      total: found(/^  (?:time|iteration) +([\d.]+)/m)[0], sent: sent && [sent[0], sent[1] ?? sent[0]],
      rates: found(/algbw = S\/t = (\S+) GB\/s; busbw = .* = (\S+) GB\/s/)?.map(inRates),
      figures: json.facts.figures && [...output.matchAll(
        /^  rank \d+ +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) /gm)].map(row => row.slice(1, 5))}};
}

/* ---- all four -------------------------------------------------------------------------------------------- */

/* Text's times, where they are the exact ones rounded to what it shows. */
function sharpen(told, exact) {
  return Math.abs(told - exact) < 0.0501 ? exact : told;
}

function compareOps(ops, wanted, who) {
  assert.deepEqual([...ops.keys()].sort(), [...wanted.keys()].sort(), `the ops of the ${who}`);
  for (const [name, op] of wanted) {
    const told = ops.get(name);
    if (who === "text")
      for (const key of ["begin", "end"]) told[key] = sharpen(told[key], op[key]);
    assert.deepEqual(told, op, `${name} of the ${who}`);
  }
}

/* Whatever of the facts this writer tells. */
function compareFacts(facts, wanted, who) {
  for (const [key, value] of Object.entries(facts)) {
    if (value === undefined && (key !== "rates" || wanted.rates === undefined)) continue;
    const told = key === "total" ? sharpen(value, wanted.total) : value;
    assert.deepEqual(told, wanted[key], `${key} of the ${who}`);
  }
}

/* Where ranks are in different steps, or pieces under way, no stop is just like the page; but each
 * cell that holds the same throughout, with a value, is as it was at some stop. */
function compareCells(states, stops) {
  for (const state of states) state.forEach((row, rank) => row.forEach((cell, k) => {
    if (/ = /.test(cell) && !/~/.test(cell))
      assert.ok(stops.some(stop => stop[rank][k] === cell), `rank ${rank}, ${k} of the page: ${cell}`);
  }));
}

for (const [args, {status, inStep} = {}] of [
  ["-g 4", {inStep: true}], ["-g 2 -c 5", {inStep: true}], ["-g 4 -c 2", {}], ["-g 5 -c 1003 --pieces 2"],
  ["-g 3 -c 10 -o avg -d int32", {inStep: true}], ["-g 3 -c 10 -o avg"],
  ["-g 3 -o min --init values:nan,-inf,1.5", {inStep: true}],
  ["-g 3 -c 10 -d float16 --init values:60000", {inStep: true}], ["-g 3 -c 10 --repeat 2"],
  ["-g 4 --slow link=0-1:4"], ["-g 4 --bug gather-index", {status: 1, inStep: true}],
  ["-g 3 -c 10 --bug remainder", {status: 1, inStep: true}], ["-g 4 --bug add-early", {status: 1}],
  [SMALL], [`${SMALL} -g 3 --pieces 2 --slow rank=1:2`]])
  test(`text, JSON lines, Perfetto and page of ${args}: the same numbers`, async () => {
    const json = readJson(args, status), words = readText(args, status, json);
    const perfetto = readPerfetto(args, status), page = await readPage(args, status, json);
    for (const [who, {ops, facts}] of Object.entries({text: words, Perfetto: perfetto, page})) {
      compareOps(ops, json.ops, who);
      compareFacts(facts, json.facts, who);
    }
    assert.equal(page.clock, json.facts.total);
    assert.equal(perfetto.refuted, json.facts.findings.length > 0);
    for (const finding of json.facts.findings.slice(0, 10))
      assert.ok(words.output.includes(finding), `the text does not say: ${finding}`);
    assert.deepEqual(words.states, json.states, "the states of the text");
    if (json.states.length) assert.deepEqual(page.last, json.states.at(-1), "the end of the page");
    if (inStep) assert.deepEqual(page.states, json.states, "the states of the page");
    else compareCells(page.states, json.states);
  });

await runTests(process.argv[2]);
