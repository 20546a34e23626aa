/* pages.mjs - what the tests of the page are written with: runs of the program under test
 * ($RING_DEMO), on simulated GPUs, whose runs are the same each time; their pages, opened in
 * Chromium without a window; and what is read from them. */
import assert from "node:assert/strict";
import {spawnSync} from "node:child_process";
import {mkdtempSync, rmSync} from "node:fs";
import {tmpdir} from "node:os";
import {join, resolve} from "node:path";
import {pathToFileURL} from "node:url";
import {chromium} from "playwright-core";

const demo = resolve(process.env.RING_DEMO || "./ring_demo");
export const work = mkdtempSync(join(tmpdir(), "ring_demo_page."));
let browser;

/* The program's output; `status` is what its exit must be. */
export function run(args, status = 0) {
  const words = args.split(" "), overlap = words[0] === "overlap";
  const all = [...(overlap ? [words.shift()] : []), "--backend", "host", ...words];
  const result = spawnSync(demo, all, {encoding: "utf8", cwd: work, maxBuffer: 1 << 28});
  assert.equal(result.status, status, `${args}: ${result.stderr}`);
  return result;
}

/* Each page is written once. */
const pages = new Map();
export function writePage(args, status = 0) {
  if (!pages.has(args)) {
    pages.set(args, join(work, `${pages.size}.html`));
    run(`${args} --trace=html --trace-file ${pages.get(args)}`, status);
  }
  return pages.get(args);
}

/* A backward pass small enough to be run often. */
export const SMALL = "overlap --layers 8x1MiB --bucket-cap-mb 2";

export function jsonOf(args, status = 0) {
  const lines = run(`${args} --trace=json`, status).stdout.trim().split("\n").map(JSON.parse);
  const of = type => lines.filter(line => line.type === type);
  return {header: of("header")[0], summary: of("summary")[0], ops: of("op"), states: of("state")};
}

/* Opens a page that must neither complain nor ask any host for anything. */
export async function open(args, {status = 0, file, ...options} = {}) {
  const context = await browser.newContext({viewport: {width: 1280, height: 800}, ...options});
  const page = await context.newPage();
  const complaints = [], url = pathToFileURL(file ?? writePage(args, status)).href;
  page.on("pageerror", error => complaints.push(error.message));
  page.on("console", message => complaints.push(message.text()));
  page.on("request", request => request.url() === url || complaints.push(request.url()));
  await page.goto(url);
  page.finish = async () => {
    assert.deepEqual(complaints, []);
    await context.close();
  };
  return page;
}

export const text = (page, selector) => page.locator(selector).innerText();
export const sentence = page => text(page, "#sentence");
export const press = async (page, key, times = 1) => {
  for (let i = 0; i < times; i++) await page.keyboard.press(key);
};

/* The state table as the text trace writes it: "0+1 = 31". */
export const stateTable = page => page.$$eval("#state tr", rows => rows.slice(1).map(row =>
  [...row.querySelectorAll("td")].map(td => [td.querySelector("b"), td.querySelector("i")]
    .map(part => part.textContent).filter(part => part).join(" "))));

export const us = async page => parseFloat(await text(page, "#clock"));

const tests = [];
export const test = (name, body) => tests.push({name, body});

/* Runs the tests whose names hold `only`, all of them where it is undefined. Each prints `ok NAME`
 * or `FAIL NAME: why`; the last line counts them. */
export async function runTests(only) {
  let passed = 0, failed = 0;
  browser = await chromium.launch({executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
                                   args: ["--no-sandbox", "--disable-dev-shm-usage"]});
  for (const {name, body} of tests) {
    if (only && !name.includes(only)) continue;
    try {
      await body();
      passed++;
      console.log(`ok ${name}`);
    } catch (error) {
      failed++;
      console.log(`FAIL ${name}: ${String(error.message).split("\n").slice(0, 12).join("\n  ")}`);
    }
  }
  await browser.close();
  rmSync(work, {recursive: true});
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed ? 1 : 0;
}
