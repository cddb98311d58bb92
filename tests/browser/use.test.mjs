// What a reader does: filters, links, the keyboard, files to keep.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { go, launch, open } from "./browser.mjs";
import { at, full_report, kvcap_path, screenshots, work, write_page } from "./fixtures.mjs";

let browser, tab, page, data, url;

before(async () => {
  data = full_report();
  url = write_page("use", data);
  browser = await launch();
  tab = await open(browser, url);
  page = tab.page;
});
after(async () => {
  assert.deepEqual(tab?.errors ?? [], []);
  await browser?.close();
});

const results = () => data.inputs.find((input) => input.name === "demo").content.results;

async function download(click) {
  const [file] = await Promise.all([page.waitForEvent("download"), click()]);
  const path = at(file.suggestedFilename());
  await file.saveAs(path);
  return readFileSync(path, "utf8");
}

const columns = (figure) =>
  page.$eval(`#${figure}`, async (element) => {
    element.querySelector("details").open = true;
    await new Promise((done) => setTimeout(done, 30));
    return [...element.querySelectorAll("thead th")].map((one) => one.textContent.split(" ")[0]);
  });

test("a link shows the policies that it names and stands at its chart", async () => {
  const other = await open(browser, `${url}#/latency?runs=demo&policies=hcache,kv_offload&chart=breakdown`);
  const state = await other.page.evaluate(() => ({
    linked: document.querySelector("figure.linked")?.id,
    top: document.getElementById("breakdown").getBoundingClientRect().top,
    pressed: [...document.querySelectorAll('.policy[aria-pressed="true"]')].map((one) => one.textContent),
  }));
  assert.equal(state.linked, "breakdown");
  assert.deepEqual(state.pressed, ["kv_offload", "hcache"]);
  assert.ok(state.top < 800, `the chart is ${state.top} px down`);
  assert.deepEqual(other.errors, []);
  await other.close();
});

test("switching a policy off takes it out of every chart and into the address", async () => {
  await go(page, "#/latency?runs=demo");
  await page.click('.policy:has-text("recompute")');
  await page.waitForFunction(() => location.hash.includes("policies="));
  assert.match(await page.evaluate(() => location.hash), /policies=kv_offload,hcache,ideal/);
  assert.deepEqual(await columns("cdf"), ["Share", "kv_offload", "hcache", "ideal"]);
  await page.click('.policy:has-text("recompute")');
  await page.waitForFunction(() => !location.hash.includes("policies=kv_offload,"));
  assert.deepEqual(await columns("cdf"), ["Share", "recompute", "kv_offload", "hcache", "ideal"]);
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "recompute");
});

test("a choice is in the address and keeps the focus", async () => {
  await go(page, "#/latency?runs=demo");
  await page.selectOption("#choose-distribution", "warm_ttft_ms");
  await page.waitForFunction(() => location.hash.includes("distribution=warm_ttft_ms"));
  assert.match(await page.textContent("#cdf h2"), /later turns/);
});

test("the CSV of a chart holds every digit of the JSON", async () => {
  await go(page, "#/latency?runs=demo");
  const text = await download(() => page.click('#breakdown button:has-text("CSV")'));
  const [head, ...rows] = text
    .trim()
    .split("\r\n")
    .map((line) => line.split(","));
  assert.deepEqual(head, [
    "Policy",
    "API server (ms)",
    "queue (ms)",
    "lookup (ms)",
    "load (ms)",
    "restore compute (ms)",
    "prefill (ms)",
    "mean TTFT (ms)",
  ]);
  results().forEach(({ setting, metrics }, at_row) => {
    const parts = metrics.ttft_breakdown_ms;
    const wanted = [
      parts.api,
      parts.queue,
      parts.lookup,
      parts.load,
      parts.restore_compute,
      parts.prefill,
      metrics.mean_ttft_ms,
    ];
    assert.deepEqual(rows[at_row], [setting, ...wanted.map(String)]);
  });
});

test("filters of a sweep leave the points that they name", async () => {
  await go(page, "#/sweep?policies=hcache&only.hardware.ssd.count=2");
  assert.match(await page.textContent("main"), /25 of 200 points are shown/);
});

test("a point of a sweep is reached by keyboard, and its command gives its numbers", async () => {
  await go(page, "#/sweep");
  await page.focus("#scatter .chart");
  for (const key of ["ArrowRight", "ArrowRight", "ArrowRight", "Enter"]) await page.keyboard.press(key);
  const command = await page.textContent("#scatter .command");
  assert.match(command, /^kvcap run base\.json --set /);
  const base = await download(() => page.click('#scatter button:has-text("Save base.json")'));
  const rows = data.inputs.find((input) => input.content.schema === "kvcap.sweep_rows/1").content;
  assert.deepEqual(JSON.parse(base), rows.base);
  const result = JSON.parse(
    execFileSync("bash", ["-c", command.replace(/^kvcap/, `'${kvcap_path}'`) + " --json"], {
      cwd: work,
      maxBuffer: 1 << 26,
    }),
  );
  // The third point of the first policy.
  const row = rows.columns["policy.name"]
    .map((name, index) => [name, index])
    .filter(([name]) => name === result.policy)[2][1];
  assert.equal(result.metrics.p99_ttft_ms, rows.columns.p99_ttft_ms[row]);
});

// A check with these points of published figures.
const curve = (id, points) => ({
  id,
  suite: "s",
  simulated: points.map((point) => point.simulated),
  verdict: "inside",
  curve: { x_axis: "load (requests/s)", points: points.map((point) => ({ y_axis: "TTFT (ms)", ...point })) },
});

test("a published figure is one chart of what is published and what is simulated", async () => {
  const figure = (name, x, simulated, published, series = "hcache") => ({
    figure: name,
    series,
    x,
    simulated,
    published,
  });
  const checks = [
    curve("both", [figure("Fig. 2", 1, 30, 31), figure("Fig. 2", 4, 60, 55), figure("Fig. 10", "a", 5, 6)]),
    curve("more", [
      figure("Fig. 2", 1, 90, [80, 99], "recompute"),
      figure("Fig. 2", 4, 120, [80, 99], "recompute"),
      figure("Fig. 10", "b", 7, [6, 8]),
    ]),
    curve("one x", [figure("Fig. 3", 1, 30, 31), figure("Fig. 3", 1, 40, 31, "ideal")]),
    curve("nothing published", [figure("Fig. 4", 1, 30, null), figure("Fig. 4", 2, 40, null)]),
  ];
  const content = { schema: "kvcap.validation/1", checks, summary: {} };
  const report = { ...data, inputs: [{ name: "v", side: "after", content }] };
  const tab = await open(browser, `${write_page("curves", report)}#/validation`);
  const charts = await tab.page.$$eval("figure[id^=published]", (all) =>
    all.map((one) => ({
      title: one.querySelector("h2").textContent,
      key: [...one.querySelectorAll(".key span")].map((name) => name.textContent),
      dashed: one.querySelectorAll("svg path[stroke-dasharray]").length,
      hollow: one.querySelectorAll('svg path[fill="transparent"], svg path[fill="none"][transform]').length,
      text: one.querySelector("svg").textContent,
    })),
  );
  assert.deepEqual(
    charts.map((chart) => chart.title),
    ["Fig. 2", "Fig. 10"],
  );
  const [two, ten] = charts;
  assert.deepEqual(two.key, ["\u25cf hcache", "\u25b2 recompute"]);
  assert.equal(two.dashed, 2, "the line of hcache and the box of recompute");
  assert.equal(two.hollow, 2, "two published numbers");
  assert.match(two.text, /load \(requests\/s\)/);
  assert.match(two.text, /TTFT \(ms\)/);
  assert.equal(ten.hollow, 1);
  const rows = await tab.page.$eval("figure[id^=published]", async (one) => {
    one.querySelector("details").open = true;
    await new Promise((done) => setTimeout(done, 50));
    return [...one.querySelectorAll("tbody tr")].map((row) =>
      [...row.children].map((each) => each.textContent),
    );
  });
  assert.deepEqual(rows, [
    ["hcache", "1", "30", "31"],
    ["hcache", "4", "60", "55"],
    ["recompute", "1", "90", "80 to 99"],
    ["recompute", "4", "120", "80 to 99"],
  ]);
  assert.deepEqual(tab.errors, []);
  await tab.close();
});

test("dark colours follow the system until the reader chooses", async () => {
  const dark = await open(browser, url, { colorScheme: "dark" });
  const mode = () => dark.page.evaluate(() => document.documentElement.dataset.theme);
  assert.equal(await mode(), "dark");
  await dark.page.click("#theme");
  assert.equal(await mode(), "light");
  await dark.page.reload();
  await dark.page.waitForSelector("html[data-drawn]");
  assert.equal(await mode(), "light");
  await dark.close();
});

test("all pages print, one after the other", async () => {
  mkdirSync(screenshots, { recursive: true });
  await go(page, "#/all");
  assert.equal((await page.$$("section")).length, 10);
  const pdf = await page.pdf({ format: "A4", path: join(screenshots, "report.pdf") });
  const sheets = pdf.toString("latin1").match(/\/Type \/Page\b/g)?.length ?? 0;
  assert.ok(sheets >= 9, `${sheets} sheets`);
});
