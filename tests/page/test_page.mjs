/* test_page.mjs - the page of --trace=html in a real browser.
 *
 * What a page shows is compared with the JSON lines and the text trace of a run of its own.
 * tests/page/run.sh installs what this needs. An argument is part of a name: those tests alone. */
import assert from "node:assert/strict";
import {mkdirSync, readFileSync, writeFileSync} from "node:fs";
import {createRequire} from "node:module";
import {join} from "node:path";
import {SMALL, jsonOf, open, press, run, runTests, sentence, stateTable, test, text, us, work,
        writePage} from "./pages.mjs";

const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/* ---- the same numbers everywhere --------------------------------------------------------------- */

for (const [args, status] of [["-g 2"], ["-g 5 -c 1003 --pieces 3 --repeat 2"], [SMALL],
                              ["-g 4 --bug gather-index", 1]])
  test(`the page holds the JSON lines of ${args}`, async () => {
    const page = readFileSync(writePage(args, status), "utf8");
    assert.ok(page.includes(`id="run">\n${run(`${args} --trace=json`, status).stdout}</script>`));
    assert.ok(!/https?:\/\/(?!www\.w3\.org)|src=|url\((?!#)|@import/.test(page));
  });

for (const args of ["-g 4", "-g 3 -c 10 --pieces 2", "-g 2 -o avg -d int32",
                    "-g 3 --init values:nan,inf,1"])
  test(`every op of ${args} shows its times, bytes and what it holds`, async () => {
    const page = await open(args), {ops} = jsonOf(args);
    const trace = run(`${args} --trace`).stdout;
    for (let i = 0; i < ops.length; i++) {
      await press(page, "Shift+ArrowRight");
      const name = await text(page, "#chosen h3"), op = ops.find(o => o.name === name);
      const facts = await page.$$eval("#chosen dl > *", parts => parts.map(p => p.textContent));
      const fact = key => facts[facts.indexOf(key) + 1];
      assert.equal(fact("began .. ended"),
                   `${op.begin_us.toFixed(3)} .. ${op.end_us.toFixed(3)} us`);
      assert.equal(fact("bytes"), String(op.bytes));
      assert.equal(fact("then holds"), op.holds);
      const times = new RegExp(`${op.begin_us.toFixed(1)} \\.\\. +${op.end_us.toFixed(1)}`);
      assert.match(trace, times);
      for (const wait of op.waits) assert.ok((await sentence(page)).includes(ops[wait.op].name));
    }
    assert.equal(await page.locator("#timeline .op").count(), ops.length);
    await page.finish();
  });

for (const args of ["-g 2", "-g 3", "-g 4", "-g 5 -c 23", "-g 4 --init random:3"])
  test(`the state table of ${args} is that of the text trace, step for step`, async () => {
    const page = await open(args), {header} = jsonOf(args);
    const lines = run(`${args} --trace`).stdout.split("\n");
    const rows = lines.filter(line => /^  rank \d+ +[\d.+al]+ = /.test(line))
      .map(line => line.trim().split(/ {2,}/).slice(1));
    assert.equal(rows.length, header.ranks * (header.steps + 1));
    for (let stop = 0; stop <= header.steps; stop++) {
      await press(page, "ArrowRight"); /* to the begin of a step: all before it has ended */
      assert.deepEqual(await stateTable(page),
                       rows.slice(stop * header.ranks, (stop + 1) * header.ranks));
    }
    await page.finish();
  });

for (const [args, status] of [["-g 4"], ["-g 4 --bug remainder -c 10", 1], [SMALL]])
  test(`verdicts, hash and notice of ${args}`, async () => {
    const page = await open(args, {status}), {header, summary} = jsonOf(args, status);
    const chips = (await page.locator("#verdicts li").allInnerTexts()).join(" | ");
    assert.ok(chips.includes(summary.proven ? "✓ proven" : `✗ refuted: ${summary.n_findings}`));
    assert.ok(chips.includes(summary.ranks_identical ? "✓ all ranks identical" : "✗ ranks differ"));
    assert.ok(chips.includes(summary.value_right ? "✓ value right" : "✗ value wrong"));
    assert.ok(chips.includes(summary.hash));
    assert.match(await text(page, "#notes"), /simulated GPUs: real data moves, times are modelled/);
    assert.match(await text(page, "h1"), new RegExp(`on ${header.ranks} ranks, simulated GPUs`));
    await page.finish();
  });

/* ---- controls and keys ---------------------------------------------------------------------------- */

test("every button", async () => {
  const page = await open("-g 4"), {ops, summary} = jsonOf("-g 4");
  const begins = [...new Set(ops.filter(op => op.kind === "copy").map(op => op.begin_us))];
  const click = name => page.getByRole("button", {name, exact: true}).click();
  assert.match(await sentence(page), /Before the first step/);
  await click("step ›");
  assert.equal(await us(page), 0);
  assert.match(await sentence(page), /^Step s=0 \(1 of 6\), scatter-reduce: every rank sends/);
  await click("step ›");
  assert.equal(await us(page), begins[1]);
  await click("‹ step");
  assert.equal(await us(page), 0);
  await click("all-gather");
  assert.equal(await us(page), begins[3]);
  assert.match(await sentence(page), /^Step s=3 \(4 of 6\), all-gather: .* complete segment/);
  await click("scatter-reduce");
  assert.equal(await us(page), 0);
  await click("op ›");
  assert.equal(await text(page, "#chosen h3"), "s0.copy.r0");
  await click("op ›");
  assert.equal(await text(page, "#chosen h3"), "s0.copy.r1");
  await click("‹ op");
  assert.equal(await text(page, "#chosen h3"), "s0.copy.r0");
  await click("let the op go");
  assert.ok(await page.locator("#chosen").isHidden());
  await click("to the end");
  assert.equal(await us(page), summary.total_us);
  assert.match(await sentence(page), /^Done after 20.469 us: every rank holds the complete sum/);
  await click("to the begin");
  assert.equal(await us(page), 0);
  await page.locator("#scrub").fill("10");
  assert.equal(await us(page), 10);
  const width = () => page.locator("#timeline").evaluate(e => e.clientWidth);
  const before = await width();
  await click("timeline wider");
  assert.ok(await width() > 1.9 * before);
  await click("timeline narrower");
  assert.equal(await width(), before);
  await page.finish();
});

for (const args of ["-g 4", SMALL])
  test(`the start of ${args}: nothing has begun, and Home and steps back reach it again`, async () => {
    const page = await open(args), seen = () => page.evaluate(() => ["sentence", "ring", "now", "state"]
      .map(id => document.getElementById(id).innerText).join("\n"));
    const start = await seen();
    assert.match(start, /^Before the (first step|backward pass)/);
    assert.equal(await page.locator(".pill, .card.busy, #now td.does").count(), 0);
    await press(page, "Shift+ArrowRight");
    await press(page, "Escape");
    assert.notEqual(await seen(), start);
    await press(page, "Home");
    assert.equal(await seen(), start);
    await press(page, "ArrowRight", 2);
    assert.ok(await page.locator(".card.busy").count() > 0);
    await press(page, "ArrowLeft", 2);
    assert.equal(await seen(), start);
    await press(page, "m");
    assert.equal(await page.locator(".pill, .card.busy, #now td.does").count(), 0, "in lock step");
    await page.finish();
  });

test("without ops the controls are off, and say why", async () => {
  const page = await open("-g 1");
  for (const id of ["play", "to-begin", "step-back", "step-on", "op-back", "op-on", "to-end", "real",
                    "lock", "speed"]) {
    assert.ok(await page.locator(`#${id}`).isDisabled(), id);
    assert.match(await page.getAttribute(`#${id}`, "title"), /^Nothing to replay: /);
  }
  assert.match(await text(page, "#clock"), /nothing to replay/);
  assert.ok(await page.locator("#theme").isEnabled());
  await page.finish();
});

test("play, pause, speed, and the end", async () => {
  const page = await open("-g 4"), play = page.locator("#play");
  await page.selectOption("#speed", "0.5");
  await play.click();
  assert.match(await play.innerText(), /pause/);
  await page.waitForTimeout(600);
  await play.click();
  const slow = await us(page);
  await page.waitForTimeout(100);
  assert.equal(await us(page), slow, "it pauses");
  assert.ok(slow > 0 && slow < 20.469 * 1.5 * 0.5 / 20, `${slow} us in about 0.6 s at half speed`);
  await press(page, "+", 9);
  assert.equal(await page.inputValue("#speed"), "8");
  await press(page, "End");
  await press(page, "Space"); /* from the begin again */
  await page.waitForFunction(() => document.getElementById("clock").textContent.startsWith("20.469"));
  assert.match(await play.innerText(), /play/);
  assert.match(await sentence(page), /^Done/);
  await page.finish();
});

test("every key", async () => {
  const page = await open("-g 4");
  await press(page, "ArrowRight", 3);
  assert.match(await sentence(page), /^Step s=2/);
  await press(page, "ArrowLeft");
  assert.match(await sentence(page), /^Step s=1/);
  await press(page, "Shift+ArrowRight");
  assert.equal(await text(page, "#chosen h3"), "s1.copy.r0");
  await press(page, "ArrowUp");
  assert.equal(await text(page, "#chosen h3"), "s0.reduce.r0");
  await press(page, "ArrowDown");
  assert.equal(await text(page, "#chosen h3"), "s1.copy.r0");
  await press(page, "Shift+ArrowLeft");
  assert.match(await text(page, "#chosen h3"), /^s0.reduce/);
  await press(page, "Escape");
  assert.ok(await page.locator("#chosen").isHidden());
  await press(page, "2");
  assert.match(await sentence(page), /^Step s=3/);
  await press(page, "1");
  assert.match(await sentence(page), /^Step s=0/);
  await press(page, "End");
  assert.match(await sentence(page), /^Done/);
  await press(page, "Home");
  assert.equal(await us(page), 0);
  await press(page, "m");
  assert.match(await text(page, "#clock"), /^beat 0 of/);
  await press(page, "m");
  await press(page, "-");
  assert.equal(await page.inputValue("#speed"), "0.5");
  await press(page, "]");
  await press(page, "[");
  await press(page, "t");
  assert.equal(await page.evaluate(() => document.documentElement.style.colorScheme), "dark");
  await press(page, "?");
  assert.match(await text(page, "#help"), /one ring step on/);
  await press(page, "Escape");
  assert.ok(await page.locator("#help").isHidden());
  await page.getByRole("button", {name: "keys ?"}).click();
  await page.getByRole("button", {name: "close"}).click();
  assert.ok(await page.locator("#help").isHidden());
  await page.finish();
});

test("keys leave a slider and a list alone, and work from everywhere else", async () => {
  const page = await open("-g 4");
  await page.focus("#speed");
  await press(page, "ArrowDown");
  assert.equal(await page.inputValue("#speed"), "2");
  await page.focus("#step-on");
  await press(page, "Enter");
  assert.match(await sentence(page), /^Step s=0/);
  await press(page, "ArrowRight");
  assert.match(await sentence(page), /^Step s=1/);
  await page.finish();
});

/* Words that no number or name should ever become. */
const nonsense = page => page.evaluate(() => {
  const bad = /NaN|undefined|Infinity|\bnull\b/;
  return document.body.innerText.match(bad)?.[0] ?? [...document.querySelectorAll("svg *, .pill")]
    .flatMap(part => [...part.attributes]).find(a => bad.test(a.value))?.value ?? "";
});

for (const [args, status] of [["-g 4"], ["-g 1"], ["-g 4 -c 0"], ["-g 4 -c 4 --link 1000000:0"],
    ["-g 3 --schedule random:3"], ["-g 4 --bug add-early", 1], [SMALL]])
  test(`every key at both ends, in both clocks, while it plays: ${args}`, async () => {
    const page = await open(args, {status});
    const keys = ["ArrowLeft", "Shift+ArrowLeft", "ArrowUp", "ArrowDown", "ArrowRight",
      "Shift+ArrowRight", "Space", "1", "2", "6", "f", "+", "-", "]", "[", "m", "Escape"];
    for (const end of ["Home", "End"])
      for (const key of [...keys, "Space", ...keys, "m"]) {
        await press(page, end);
        await press(page, key);
        assert.equal(await nonsense(page), "", `${end}, ${key}`);
      }
    await press(page, "Home");
    await press(page, "Space");
    if (await page.locator("#scrub").isVisible()) await page.locator("#scrub").fill("1");
    await press(page, "Space");
    await page.setViewportSize({width: 900, height: 600});
    await page.waitForTimeout(150);
    assert.equal(await nonsense(page), "");
    await press(page, "End");
    assert.match(await sentence(page), /^(Done|Nothing to do)/);
    await page.finish();
  });

test("names of layers that are markup", async () => {
  writeFileSync(join(work, "odd.layers"), `a"<b>&'</script> 1024\n\u4e2d\u2192\u00fc 4096\n`);
  const page = await open("overlap --layers odd.layers -g 2");
  await press(page, "Shift+ArrowRight", 3);
  assert.match(await sentence(page), /\(a"<b>&'<\/script>\)/);
  await page.finish();
});

test("everything can be reached with the keyboard", async () => {
  const page = await open("-g 4"), reached = new Set();
  for (let i = 0; i < 40; i++) {
    await press(page, "Tab");
    reached.add(await page.evaluate(() => document.activeElement.id || document.activeElement.textContent));
  }
  for (const id of ["play", "step-on", "op-back", "all-gather", "real", "lock", "speed", "theme",
                    "help-on", "scrub", "zoom-in", "timeline-scroll"])
    assert.ok(reached.has(id), `${id} cannot be reached`);
  await page.finish();
});

/* ---- two clocks ------------------------------------------------------------------------------------- */

test("lock step: an op a beat, and the same place in the run", async () => {
  const page = await open("-g 4");
  await press(page, "ArrowRight", 4);
  const before = await stateTable(page);
  await page.click("#lock");
  assert.equal(await text(page, "#clock"), "beat 7 of 9");
  assert.deepEqual(await stateTable(page), before);
  assert.equal(await page.getAttribute("#lock", "aria-pressed"), "true");
  const widths = new Set(await page.$$eval("#timeline .op", bars => bars.map(b => b.getAttribute("width"))));
  assert.equal(widths.size, 1);
  await page.click("#real");
  assert.match(await sentence(page), /^Step s=3/);
  await page.finish();
});

test("skew shows in real time, not in lock step", async () => {
  const page = await open("-g 4 --slow link=0-1:3x"), seen = [];
  for (const at of [5, 9, 15, 25, 35]) {
    await page.locator("#scrub").fill(String(at));
    seen.push(await sentence(page));
  }
  assert.ok(seen.some(s => /^Rank \d is at s=\d while rank \d is at s=\d: /.test(s)), seen.join("\n"));
  await page.click("#lock");
  await page.locator("#scrub").fill("4.5");
  assert.doesNotMatch(await sentence(page), / while rank /);
  await page.finish();
});

test("without motion it jumps from step to step", async () => {
  const page = await open("-g 4", {reducedMotion: "reduce"});
  await page.selectOption("#speed", "8");
  await page.click("#play");
  const seen = new Set();
  while (!(await sentence(page)).startsWith("Done")) {
    seen.add(await us(page));
    await page.waitForTimeout(40);
  }
  assert.ok(seen.size <= 7, `${seen.size} places on the way`);
  await page.finish();
});

/* ---- one choice, all views ------------------------------------------------------------------------------ */

async function lit(page) {
  return page.evaluate(() => ({
    link: document.querySelector("#ring .track.chosen")?.dataset.link,
    card: document.querySelector("#ring .card.chosen")?.dataset.rank,
    cell: [...document.querySelectorAll("#state td.chosen")].map(td => `${td.dataset.rank} ${td.dataset.column}`).join(),
    source: [...document.querySelectorAll("#state td.source")].map(td => `${td.dataset.rank} ${td.dataset.column}`).join(),
    causes: [...document.querySelectorAll("#marks .wait.chosen")].map(a => `${a.dataset.from} ${a.dataset.to}`).join(),
    tags: [...document.querySelectorAll("#marks .tag")].map(t => t.textContent).join(),
    op: document.querySelector("#chosen h3")?.textContent,
  }));
}

test("a copy: link, segments, cause and words", async () => {
  const page = await open("-g 4"), {ops} = jsonOf("-g 4");
  const op = ops.find(o => o.name === "s3.copy.r0"), bar = page.locator(`#timeline [data-op="${op.id}"]`);
  await bar.click();
  assert.deepEqual(await lit(page), {link: "0 1", card: undefined, cell: "1 1", source: "0 1",
    causes: op.waits.map(w => `${w.op} ${op.id}`).join(), tags: op.waits.map(w => w.reason).join(),
    op: op.name});
  assert.equal(await sentence(page), "Rank 0 sends segment 1 (all) to rank 1; it waited for " +
               "s2.reduce.r0: what it reads has been produced.");
  const pill = await page.locator(`.pill[data-op="${op.id}"]`).innerText();
  assert.match(pill.replace(/\s+/g, " "), /segment 1 all · 4 KiB/);
  await page.finish();
});

test("an add, and why it waits", async () => {
  const page = await open("-g 4"), {ops} = jsonOf("-g 4");
  const op = ops.find(o => o.name === "s0.reduce.r1");
  await page.locator(`#timeline [data-op="${op.id}"]`).click();
  const {link, card, cell} = await lit(page);
  assert.deepEqual({link, card, cell}, {link: undefined, card: "1", cell: "1 0"});
  assert.equal(await sentence(page), "Rank 1 adds segment 0 from its inbox; it waited for " +
               "s0.copy.r0: what it reads has arrived.");
  await page.getByRole("button", {name: "s0.copy.r0"}).click();
  assert.equal(await text(page, "#chosen h3"), "s0.copy.r0");
  await page.finish();
});

test("a choice from each view", async () => {
  const page = await open("-g 4");
  await press(page, "ArrowRight", 2);
  await page.locator("#ring .grip").first().dispatchEvent("click");
  assert.equal((await lit(page)).op, "s1.copy.r0");
  await page.locator('.card[data-rank="2"]').click({position: {x: 5, y: 60}});
  assert.match((await lit(page)).op, /^s1\..*r2$/);
  await page.locator('#state td[data-rank="1"][data-column="0"]').click();
  assert.equal((await lit(page)).op, "s0.reduce.r1");
  await press(page, "Escape");
  await press(page, "ArrowRight");
  await page.locator("#now td.does").first().click();
  assert.match((await lit(page)).op, /^s\d\./);
  await press(page, "Escape");
  await page.locator(".pill").first().click();
  assert.match((await lit(page)).op, /copy/);
  await page.finish();
});

test("a drained wait: what is overwritten has been read", async () => {
  const page = await open("-g 4"), {ops} = jsonOf("-g 4");
  const op = ops.find(o => o.waits.some(w => w.reason === "drained"));
  await page.locator(`#timeline [data-op="${op.id}"]`).click();
  assert.match(await sentence(page), /: what it overwrites has been read\.$/);
  await page.finish();
});

test("now: what each lane does, or waits for", async () => {
  const page = await open("-g 4");
  await press(page, "ArrowRight", 2);
  const rows = await page.$$eval("#now tr", trs => trs.slice(1).map(tr =>
    [...tr.querySelectorAll("td")].map(td => (td.classList.contains("waits") ? "waits " : "") + td.textContent)));
  assert.deepEqual(rows[0], ["segment 3 (0+3) → rank 1", "waits segment 2 from rank 3"]);
  await press(page, "End");
  assert.equal(await text(page, "#now tr:nth-child(2) td:last-child"), "done");
  await page.finish();
});

for (const [args, at, rank, lane, words] of [
  ["-g 4", 9, 1, "send", "segment 3 (0+1+3) → rank 2"],
  ["-g 4", 12, 0, "send", "waits its add of segment 1"],
  ["-g 4 --slots 1 --slow link=2-3:4", 8, 1, "send", "waits its add of segment 3, room in rank 2's inbox"],
  ["-g 3 -o avg", 1, 2, "send", "waits its division"],
  [SMALL, 15, 0, "send", "waits its layer 6"],
  [SMALL, 15, 0, "reduce", "waits b0 from rank 3"],
  [SMALL, 120, 0, "compute", "waits b3"]])
  test(`now: rank ${rank} at ${at} us of ${args}: ${words}`, async () => {
    const page = await open(args);
    await page.locator("#scrub").fill(String(at));
    const told = await page.evaluate(([rank, lane]) => {
      const i = [...document.querySelectorAll("#now th[scope=col]")].findIndex(th => th.dataset.lane === lane);
      const td = document.querySelectorAll("#now tr")[rank + 1].querySelectorAll("td")[i];
      return (td.classList.contains("waits") ? "waits " : "") + td.textContent;
    }, [rank, lane]);
    assert.equal(told, words);
    await page.finish();
  });

test("now: all four ranks are seen without scrolling", async () => {
  for (const args of ["-g 4", SMALL]) {
    const page = await open(args);
    await page.locator("#scrub").fill("12");
    assert.ok(await page.$eval("#now-part", box => box.scrollHeight <= box.clientHeight), args);
    await page.finish();
  }
});

test("who waits for whom, where ranks are in different steps", async () => {
  const page = await open("-g 4 --slow link=0-1:4");
  await page.locator("#scrub").fill("41");
  assert.match(await sentence(page),
               /^Rank 2 is at s=5 while rank 0 is at s=4: rank 1 waits for rank 0; 2 ranks each send/);
  await page.finish();
});

test("a strip of steps only where all ranks are in the same", async () => {
  const strip = page => page.$$eval("#timeline .phase", parts => parts.length);
  const even = await open("-g 4"), skewed = await open("-g 4 --slow link=0-1:4");
  assert.equal(await strip(even), 6);
  assert.equal(await strip(skewed), 1);
  assert.match(await skewed.textContent("#timeline"), /ranks are in different steps/);
  assert.doesNotMatch(await skewed.textContent("#timeline"), /s=2/);
  await even.finish();
  await skewed.finish();
});

/* ---- overlap ---------------------------------------------------------------------------------------------- */

for (const args of [SMALL, `${SMALL} --slow rank=1:3x -g 3`, `${SMALL} --no-overlap`])
  test(`${args}: the report's numbers, and as much shaded`, async () => {
    const page = await open(args), {summary} = jsonOf(args);
    const rows = await page.$$eval("#figures tr", trs => trs.slice(1).map(tr =>
      [...tr.querySelectorAll("td")].map(td => td.textContent)));
    assert.deepEqual(rows, summary.figures.map(f => [f.compute_us, f.communication_us, f.hidden_us,
      f.exposed_us].map(x => x.toFixed(1))));
    const report = run(args).stdout;
    if (!args.includes("no-overlap"))
      for (const row of rows) assert.match(report, new RegExp(row.join(" +").replaceAll(".", "\\.")));
    const shaded = await page.evaluate(() => {
      const sum = part => [...document.querySelectorAll(`#timeline [data-part=${part}]`)]
        .reduce((w, r) => w + +r.getAttribute("width"), 0);
      return {hidden: sum("hidden"), exposed: sum("exposed")};
    });
    const total = key => summary.figures.reduce((sum, f) => sum + f[key], 0);
    const share = total("hidden_us") / (total("hidden_us") + total("exposed_us"));
    assert.ok(Math.abs(shaded.hidden / (shaded.hidden + shaded.exposed) - share) < 1e-3);
    await page.finish();
  });

test("overlap: buckets, and what is hidden, in words", async () => {
  const page = await open(SMALL);
  await page.getByRole("button", {name: "bucket 1"}).click();
  assert.match(await sentence(page), /bucket 1 goes around the ring, hidden behind the computing/);
  await page.getByRole("button", {name: "bucket 3"}).click();
  assert.match(await sentence(page), /[Bb]ucket 3 goes around the ring, exposed/);
  const words = await page.$$eval("#state tr:nth-child(2) td b", cells => cells.map(b => b.textContent));
  assert.deepEqual(words, ["summed", "summed", "summed", "s=0"]);
  await press(page, "End");
  assert.match(await sentence(page), /same averaged gradients/);
  await page.finish();
});

/* What State says of bucket 0, the cards of their steps, and Now of the lanes, rank by rank. */
const overlapViews = page => page.evaluate(() => [...document.querySelectorAll("#now tr")].slice(1)
  .map((row, rank) => ({
    state: document.querySelector(`#state td[data-rank="${rank}"][data-column="0"] b`).textContent,
    card: document.querySelector(`.card[data-rank="${rank}"] .top span`).textContent,
    now: [...row.querySelectorAll("td.does")].map(td => td.textContent)})));

test("overlap: State, ring and Now tell a rank's own step, and computing stays computing", async () => {
  const args = "overlap --slow rank=1:3x", page = await open(args), {ops} = jsonOf(args);
  for (const at of [268.435, 293.649, 805, 810, 827.471, 850]) {
    await page.locator("#scrub").fill(String(at));
    for (const [rank, {state, card, now}] of (await overlapViews(page)).entries()) {
      const own = ops.filter(op => op.rank === rank && op.bucket === 0 && op.begin_us <= at);
      const steps = own.filter(op => op.step !== undefined);
      const last = steps.reduce((a, b) => !a || b.begin_us >= a.begin_us ? b : a, null);
      const where = `rank ${rank} at ${at}: ${state} | ${card} | ${now.join("; ")}`;
      if (last) assert.equal(state, `s=${last.step}`, where);
      else assert.match(state, /^(computes \d+\/\d+|to come|ready)$/, where);
      assert.equal(card, last ? `b0 s=${last.step}` : "", where);
      if (now.some(words => words.startsWith("layer")) && !steps.length) assert.doesNotMatch(state, /s=/);
    }
  }
  await page.finish();
});

test("the middle of the ring names every bucket that is under way, and only those", async () => {
  const args = `${SMALL} --slow rank=1:2`, page = await open(args), {ops} = jsonOf(args);
  const middle = () => text(page, "#ring .middle b"), seen = new Set();
  for (const at of ops.map(op => (op.begin_us + op.end_us) / 2)) {
    const moving = ops.filter(op => op.step !== undefined && op.begin_us <= at && op.end_us > at);
    const buckets = [...new Set(moving.map(op => op.bucket))].sort();
    if (seen.has(buckets.join())) continue;
    seen.add(buckets.join());
    await page.locator("#scrub").fill(at.toFixed(3));
    assert.match(await middle(), buckets.length === 0 ? /^(computing|optimizer|waiting)$/
      : RegExp(`^buckets? ${buckets.join(", ")}$`), `at ${at}`);
  }
  assert.ok([...seen].some(buckets => buckets.includes(",")), "two buckets are under way at once");
  await page.finish();
});

test("more than six buckets: a list to jump with", async () => {
  const args = "overlap --layers 9x1MiB --bucket-cap-mb 1", page = await open(args);
  await page.locator("#jumps select").selectOption("7");
  const {ops} = jsonOf(args);
  assert.equal(await us(page), Math.min(...ops.filter(op => op.bucket === 7 && op.step === 0)
    .map(op => op.begin_us)));
  await page.finish();
});

/* ---- broken plans --------------------------------------------------------------------------------------------- */

test("a hazard: its sentence, both ops, the missing wait", async () => {
  const args = "-g 4 --bug add-early", page = await open(args, {status: 1});
  const {summary, ops} = jsonOf(args, 1), finding = summary.findings.find(f => f.missing);
  assert.equal(await page.locator("#findings button").count(), summary.findings.length);
  await press(page, "f");
  assert.equal((await sentence(page)).toLowerCase(), finding.text.toLowerCase());
  const arrow = page.locator("#marks .wait.lacking");
  assert.equal(await arrow.getAttribute("data-from"), String(finding.missing.waits_for));
  assert.equal(await arrow.getAttribute("data-to"), String(finding.missing.op));
  assert.notEqual(await arrow.evaluate(a => getComputedStyle(a).strokeDasharray), "none");
  assert.equal(await page.locator("#marks .mark.lacking").count(), 2);
  assert.ok((await page.locator("#marks .tag").allTextContents()).includes(`missing: ${finding.missing.reason}`));
  assert.ok(ops[finding.missing.op]);
  await page.finish();
});

test("an op in a finding says so, and shows the wait that it lacks", async () => {
  const args = "-g 4 --bug slot-early", page = await open(args, {status: 1});
  const {ops} = jsonOf(args, 1), op = ops.find(o => o.name === "s2.copy.r2");
  await page.locator(`#timeline [data-op="${op.id}"]`).click();
  assert.match(await sentence(page), /; it should also wait for s0\.reduce\.r3 \(drained\): missing\.$/);
  assert.match(await text(page, "#chosen"), /should also wait for\s+s0\.reduce\.r3 drained: missing/);
  assert.equal(await page.getAttribute("#marks .wait.lacking", "data-to"), String(op.id));
  await page.getByRole("button", {name: "finding 3", exact: true}).click();
  assert.match(await sentence(page), /^Hazard .*s2\.copy\.r2/);
  await page.finish();
});

/* Words of waits that lie on an op or on the names of the lanes. */
const wordsOnOps = page => page.evaluate(() => {
  const boxes = [...document.querySelectorAll("#timeline .op")].map(op => op.getBoundingClientRect());
  const edge = document.querySelector("#timeline .row").getBoundingClientRect().left;
  return [...document.querySelectorAll("#marks .tag")].filter(tag => {
    const a = tag.getBBox(), o = document.getElementById("marks").getBoundingClientRect();
    const [left, right, y] = [o.left + a.x, o.left + a.x + a.width, o.top + a.y + a.height / 2];
    return left < edge || boxes.some(b => left < b.right - 1 && right > b.left + 1 &&
                                          y > b.top && y < b.bottom);
  }).map(tag => tag.textContent);
});

for (const bug of ["slot-early", "add-early"])
  test(`the words of a missing wait cover no op: ${bug}`, async () => {
    const args = `-g 4 --bug ${bug}`, page = await open(args, {status: 1});
    for (let i = 0; i < jsonOf(args, 1).summary.findings.length; i++) {
      await press(page, "f");
      assert.ok(await page.locator("#marks .tag").count() > 0);
      assert.deepEqual(await wordsOnOps(page), [], `finding ${i + 1}`);
    }
    await page.finish();
  });

test("a wait's word stands where its arrow comes in", async () => {
  const page = await open("-g 4"), {ops} = jsonOf("-g 4");
  for (const name of ["s0.reduce.r1", "s1.copy.r0", "s4.copy.r2"]) {
    await page.locator(`#timeline [data-op="${ops.find(o => o.name === name).id}"]`).click();
    const [word, op] = await page.evaluate(() => [document.querySelector("#marks .tag"),
      [...document.querySelectorAll("#marks .mark")].at(-1)].map(part => {
      const {x, width} = part.getBBox();
      return [x, x + width];
    }));
    assert.ok(word[1] <= op[0], `${name}: ${word} and ${op}`);
  }
  await page.finish();
});

test("right by luck is not called wrong", async () => {
  const page = await open("-g 4 --bug slot-early", {status: 1});
  await press(page, "End");
  assert.match(await sentence(page),
    /^Done after [\d.]+ us: the values happen to be right this time, but the plan is refuted\.$/);
  await page.finish();
});

test("the verdict leads to the findings", async () => {
  const args = "-g 4 --bug added-twice", page = await open(args, {status: 1});
  await page.getByRole("button", {name: "refuted: 1 finding"}).click();
  const {text: said} = jsonOf(args, 1).summary.findings[0];
  assert.equal((await sentence(page)).toLowerCase(), said.toLowerCase());
  await press(page, "f");
  assert.equal((await sentence(page)).toLowerCase(), said.toLowerCase(), "it is the only one");
  await page.finish();
});

test("wrong cells are marked, and by more than a colour", async () => {
  const page = await open("-g 4 --bug gather-index", {status: 1});
  await press(page, "End");
  assert.equal(await page.locator("#state td.wrong").count(), 16);
  assert.match(await page.locator("#state td.wrong b").first()
    .evaluate(b => getComputedStyle(b, "::before").content), /✗/);
  assert.match(await sentence(page), /^Done after .*, and wrong: 16384 of 16384 elements/);
  assert.match(await text(page, "#notes"), /A fault was put in: gather-index: /);
  assert.match(await text(page, "#facts"), /rank 0, segment 0, element 0: 31, and should be 186/);
  await page.finish();
});

test("a plan by hand, without steps, from a file whose name is markup", async () => {
  mkdirSync(join(work, "a<"));
  writeFileSync(join(work, "a</script>b.plan"), "plan 1\nranks 3\ncount 4\ngoal broadcast 1\n" +
    "a: copy 1.data -> 2.data\nb: copy 2.data -> 0.data after a arrived\n");
  const page = await open("--plan a</script>b.plan");
  assert.match(await text(page, "#facts"), /from a<\/script>b\.plan/);
  await press(page, "Shift+ArrowRight", 2);
  assert.match(await sentence(page), /^Rank 2 sends .* to rank 0; it waited for a: /);
  await press(page, "End");
  assert.match(await sentence(page), /everything is where it should be/);
  await page.finish();
});

/* ---- for every eye and every screen ---------------------------------------------------------------------------- */

for (const [args, keys, status] of [["-g 4", ["ArrowRight", "Shift+ArrowRight"]], [SMALL, ["2"]],
                                    ["-g 4 --bug gather-index", ["f"], 1], ["-g 8", ["ArrowRight"]]])
  for (const colorScheme of ["light", "dark"])
    test(`contrast and names (axe): ${args}, ${colorScheme}`, async () => {
      const page = await open(args, {status, colorScheme});
      for (const key of keys) await press(page, key);
      await page.waitForTimeout(200); /* colours fade in */
      await page.evaluate(readFileSync(axe, "utf8"));
      const {violations} = await page.evaluate(() => axe.run(document, {resultTypes: ["violations"]}));
      assert.deepEqual(violations.map(v => `${v.id}: ${v.nodes[0].html} ${v.nodes[0].failureSummary}`), []);
      await page.finish();
    });

test("the switch of themes", async () => {
  const page = await open("-g 2", {colorScheme: "light"});
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await page.click("#theme");
  assert.notEqual(await paper(), light);
  await page.click("#theme");
  assert.equal(await paper(), light);
  await page.finish();
});

/* Cards and pills that stick out of the ring's sheet. */
const cardsOutside = page => page.$$eval("#ring .card, #ring .pill", parts => parts.filter(part => {
  const a = part.getBoundingClientRect();
  const b = document.getElementById("ring").getBoundingClientRect();
  return a.left < b.left - 2 || a.right > b.right + 2 || a.top < b.top - 12 || a.bottom > b.bottom + 12;
}).length);

for (const width of [800, 1280, 1920, 3840])
  test(`nothing sticks out at ${width} px`, async () => {
    for (const args of ["-g 4", "-g 16", SMALL]) {
      const page = await open(args, {viewport: {width, height: width * 0.6}});
      await press(page, "ArrowRight", 2);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), args);
      assert.equal(await cardsOutside(page), 0, args);
      await page.finish();
    }
  });

/* Words that their cell, card or pill cuts off. */
const cutOff = page => page.$$eval("#state td, #ring .cells > *, #now td, .pill", parts => parts.filter(
  part => part.scrollWidth > part.clientWidth + 1).map(part => part.textContent));

for (const [args, keys, status] of [["-g 8", ["ArrowRight", 4]], ["-g 16", ["ArrowRight", 8]],
    ["-g 4 --bug added-twice", ["End", 1], 1], ["-g 3 -o avg --init random:5", ["End", 1]],
    ["-g 4 --init values:-1.2345678e-30,nan", ["ArrowRight", 3]],
    ["overlap --model gpt2", ["ArrowRight", 9]], [SMALL, ["ArrowRight", 8]]])
  test(`no words are cut off: ${args}`, async () => {
    for (const width of [800, 1280, 3840]) {
      const page = await open(args, {status, viewport: {width, height: width * 0.6}});
      await press(page, ...keys);
      assert.deepEqual(await cutOff(page), [], `${width} px`);
      await page.finish();
    }
  });

test("a window that changes its size", async () => {
  const page = await open("-g 4", {viewport: {width: 1920, height: 1080}});
  await page.setViewportSize({width: 1100, height: 700});
  await page.waitForTimeout(400);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  assert.equal(await cardsOutside(page), 0);
  assert.equal(await page.evaluate(() => document.getElementById("timeline").clientWidth <=
    document.getElementById("timeline-scroll").clientWidth), true);
  await page.finish();
});

for (const args of ["-g 4", "-g 16", SMALL])
  test(`on paper: ${args}: no controls, all of the state, as wide as the sheet, light`, async () => {
    const page = await open(args, {colorScheme: "dark"});
    await press(page, "t"); /* dark by choice */
    await press(page, "ArrowRight", 3);
    const before = await page.$eval("#ring", box => box.clientWidth);
    await page.emulateMedia({media: "print"});
    await page.waitForSelector(".paper");
    for (const id of ["play", "scrub", "zoom-in"]) assert.ok(await page.locator(`#${id}`).isHidden(), id);
    for (const id of ["state", "ring", "timeline", "now", "facts"])
      assert.ok(await page.locator(`#${id}`).isVisible(), id);
    const widths = await page.$$eval("main .sheet:not([hidden]):not(.below *)", sheets => sheets.map(
      sheet => sheet.clientWidth + 2));
    assert.deepEqual([...new Set(widths)], [700]);
    assert.ok(await page.$eval("#timeline", t => t.clientWidth <= t.closest(".scroll").clientWidth),
              "the timeline");
    assert.equal(await cardsOutside(page), 0);
    assert.ok(await page.$eval("#state", t => t.closest(".scroll").scrollHeight <=
                                              t.closest(".scroll").clientHeight), "the state");
    assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme),
                 "light");
    await page.emulateMedia({media: "screen"});
    await page.waitForSelector("html:not(.paper)");
    assert.equal(await page.$eval("#ring", box => box.clientWidth), before);
    assert.ok((await page.pdf()).length > 10000, "the pdf");
    await page.finish();
  });

/* ---- many ranks ------------------------------------------------------------------------------------------------- */

test("64 ranks: all ops, a table of 64 x 64", async () => {
  const page = await open("-g 64");
  assert.equal(await page.locator("#timeline .op").count(), 12096);
  assert.equal(await page.locator("#state td .glass").count(), 64 * 64);
  await press(page, "2");
  assert.match(await sentence(page), /^Step s=63 \(64 of 126\), all-gather/);
  await press(page, "End");
  assert.equal(await page.locator("#state .glass.whole").count(), 64 * 64);
  assert.match(await page.getAttribute('#state td[data-rank="5"][data-column="7"]', "title"),
               /^rank 5, segment 7: all/);
  await page.finish();
});

test("64 ranks: numbers of columns keep apart, and tables that scroll say so", async () => {
  const page = await open("-g 64"), more = page.locator(".more");
  for (const i of [0, 1]) assert.match(await more.nth(i).innerText(), /scroll: the rows go on to rank 63/);
  const least = await page.$$eval("#state th[scope=col]", heads => {
    const boxes = heads.filter(th => th.textContent).map(th => {
      const range = document.createRange();
      range.selectNodeContents(th);
      return range.getBoundingClientRect();
    });
    return Math.min(...boxes.slice(1).map((box, i) => box.left - boxes[i].right));
  });
  assert.ok(least > 8, `${least} px between two numbers`);
  await page.$eval("#now-part", box => box.scrollTo(0, box.scrollHeight));
  await page.waitForFunction(() => document.querySelector("#now-part .more.over"));
  await page.finish();
  const few = await open("-g 4");
  assert.equal(await few.locator(".more:visible").count(), 0);
  await few.finish();
});

test("more ops than a page can show: the first part, and it says so", async () => {
  const page = await open("-g 2 --repeat 3000");
  assert.match(await text(page, "#notes"), /The run has 23998 ops; this page shows the first 16000/);
  assert.equal(await page.locator("#timeline .op").count(), 16000);
  await page.finish();
});

test("one rank, and no elements", async () => {
  for (const args of ["-g 1", "-g 4 -c 0", "-g 4 -c 2"]) {
    const page = await open(args);
    await press(page, "ArrowRight");
    await press(page, "End");
    assert.match(await sentence(page), args.includes("2") ? /^Done/ : /^Nothing to do: /);
    assert.equal(await page.locator("#timeline").isVisible(), args.includes("2"));
    await page.finish();
  }
});

await runTests(process.argv[2]);
