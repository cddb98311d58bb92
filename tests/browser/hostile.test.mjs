// Names in input files are text, whatever they look like.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { go, launch, open } from "./browser.mjs";
import { at, full_report, kvcap, report_of, root, write_page } from "./fixtures.mjs";

const evil = [
  "</script><script>globalThis.pwned = 1</script>",
  '"><img src=x onerror="globalThis.pwned = 1">',
  "<svg onload=globalThis.pwned=1>",
  "{a|x}{b0}${globalThis.pwned=1}",
  "javascript:globalThis.pwned=1",
  "<!--<script>",
  '=HYPERLINK("http://example.invalid")',
  "\u202e\u0000'\"&lt;",
];
let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

// Every name and note of a document, replaced. Keys and units that the page computes with stay.
const kept = new Set([
  "parameters",
  "metrics",
  "schema",
  "side",
  "verdict",
  "stream",
  "minimize",
  "metric",
  "binding",
  "status",
  "unit",
  "stable",
]);
let turn = 0;
function poison(value, key = "") {
  if (Array.isArray(value)) return value.map((one) => poison(one, key));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, poison(one, name)]));
  }
  return typeof value === "string" && !kept.has(key) ? `${evil[turn++ % evil.length]} ${value}` : value;
}

async function visit(url) {
  const { page, errors, close } = await open(browser, url);
  const hashes = await page.$$eval("nav a", (all) => all.map((one) => one.getAttribute("href")));
  for (const hash of hashes.slice(0, -1)) {
    await go(page, hash);
    await page.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
    for (const chart of (await page.$$(".chart")).slice(0, 3)) {
      await chart.focus();
      for (const key of ["ArrowRight", "ArrowDown", "Enter"]) await page.keyboard.press(key);
      await chart.hover();
    }
    const found = await page.evaluate(() => ({
      pwned: globalThis.pwned ?? null,
      strangers: document.querySelectorAll("main script, main img, main iframe, main svg[onload], [onerror]")
        .length,
      links: [...document.querySelectorAll("a")].filter((one) => !one.getAttribute("href").startsWith("#"))
        .length,
    }));
    assert.deepEqual(found, { pwned: null, strangers: 0, links: 0 }, hash);
  }
  assert.deepEqual(errors, []);
  await go(page, "#/overview");
  const text = await page.textContent("body");
  await close();
  return text;
}

test("every name, note and sentence may be markup, and none becomes it", async () => {
  const data = poison(full_report());
  const sweep = data.inputs.find((input) => input.content.schema === "kvcap.sweep_rows/1").content;
  sweep.parameters.push(evil[1]);
  sweep.columns[evil[1]] = sweep.columns.status.map((_, row) => evil[row % evil.length]);
  const text = await visit(write_page("hostile", data));
  assert.ok(
    text.includes('<img src=x onerror="globalThis.pwned = 1">'),
    "hostile names are shown as they are",
  );
});

test("a scenario with hostile names goes through kvcap and the page", async () => {
  const scenario = at("hostile-scenario.json");
  writeFileSync(scenario, JSON.stringify({ ...hostile_scenario(), name: evil[0], notes: evil.slice(0, 6) }));
  writeFileSync(at("hostile-run.json"), kvcap(["run", scenario, "--json"]));
  const report = report_of([at("hostile-run.json")]);
  const text = await visit(write_page("hostile-run", report));
  const { lines } = report.assumptions[0];
  assert.ok(
    lines.filter((line) => evil.includes(line)).length >= 3,
    "hostile notes are among the assumptions",
  );
  for (const line of [...lines, evil[0]]) assert.ok(text.includes(line), line);
});

function hostile_scenario() {
  return {
    schema: "kvcap.scenario/1",
    model: `${root}/models/llama-2-7b.json`,
    hardware: `${root}/hwprofiles/a100-40g-4x-pm9a3.json`,
    workload: { source: { kind: "chat" }, sessions: 10 },
  };
}

test("keys of a file that are names of JavaScript's own do no harm", async () => {
  const data = full_report();
  const text = JSON.stringify(data)
    .replaceAll("<", "\\u003c")
    .replaceAll('"prefill":', '"__proto__":{"polluted":1},"constructor":{"x":1},"prefill":');
  const { page, errors, close } = await open(browser, write_page("proto", text));
  for (const name of ["latency", "cache", "changes"]) await go(page, `#/${name}`);
  assert.equal(await page.evaluate(() => ({}).polluted ?? null), null);
  assert.deepEqual(errors, []);
  await close();
});

test("hostile addresses are no names of pages, charts or policies", async () => {
  const { page, errors, close } = await open(browser, write_page("address", full_report()));
  for (const hash of [
    "#/%3Cscript%3E?policies=%3Cimg%20src=x%3E&chart=%22%3E",
    "#/latency?distribution=__proto__&runs=constructor",
    "#/sweep?metric=toString&x=__proto__&only.hardware.ssd.count=%E0%A4%A",
    "#/plan?metric=%&chart=theme",
    "#/__proto__",
  ]) {
    await go(page, hash);
    assert.ok((await page.textContent("h1")).length > 0);
  }
  assert.deepEqual(errors, []);
  await close();
});
