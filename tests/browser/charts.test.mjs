// Charts answer the pointer wherever it stands, and show what the data knows: targets, intervals, saturation.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { go, launch, open } from "./browser.mjs";
import { full_report, write_page } from "./fixtures.mjs";

let browser, tab, page, data;
before(async () => {
  data = full_report();
  browser = await launch();
  tab = await open(browser, write_page("charts", data));
  page = tab.page;
});
after(async () => {
  assert.deepEqual(tab?.errors ?? [], []);
  await browser?.close();
});

// The tooltip of a chart with the pointer at these shares of its width and height; null if there is none.
async function tip_at(chart, across, down) {
  const box = await chart.boundingBox();
  await page.mouse.move(2, 2);
  await page.mouse.move(box.x + across * box.width, box.y + down * box.height);
  return chart.evaluate((element) => {
    const shown = [...element.querySelectorAll(".tip")].find((one) =>
      one.checkVisibility({ visibilityProperty: true, opacityProperty: true }),
    );
    return shown
      ? [...shown.querySelectorAll(".tip-row span, .tip-title")].map((one) => one.textContent)
      : null;
  });
}

test("every chart answers the pointer wherever it stands", async () => {
  const hashes = await page.$$eval("nav a", (all) => all.map((one) => one.getAttribute("href")).slice(0, -1));
  for (const hash of hashes) {
    await go(page, hash);
    for (const figure of await page.$$("figure:has(.chart)")) {
      const chart = await figure.$(".chart");
      await chart.scrollIntoViewIfNeeded();
      // Between marks and rows, not on one of them; above the labels of an axis.
      const { height } = await chart.boundingBox();
      const tip = await tip_at(chart, 0.71, height < 110 ? 0.25 : 0.53);
      assert.ok(tip, `${hash} ${await figure.getAttribute("id")}`);
    }
  }
});

test("the crosshair of a line chart reads every line", async () => {
  await go(page, "#/latency?runs=demo");
  for (const figure of ["cdf", "ttft-time", "history"]) {
    const chart = await page.$(`#${figure} .chart`);
    await chart.scrollIntoViewIfNeeded();
    const [, ...lines] = await tip_at(chart, 0.6, 0.5);
    assert.deepEqual(lines, ["recompute", "kv_offload", "hcache", "ideal"], figure);
  }
});

// The demo with one setting that is saturated.
function saturated_report() {
  const input = structuredClone(data.inputs.find(({ name }) => name === "demo"));
  const { metrics } = input.content.results[0];
  metrics.stable = { verdict: "saturated", reason: "it is" };
  metrics.p99_ttft_ms = 1e6;
  return { ...data, inputs: [input] };
}

test("a saturated setting stands apart and does not flatten the others", async () => {
  const other = await open(browser, `${write_page("saturated", saturated_report())}#/latency`);
  assert.match(await other.page.textContent(".saturated"), /recompute.*1,000,000/);
  const shown = await other.page.$eval("#cdf .chart", (element) => element.getAttribute("aria-label"));
  assert.doesNotMatch(shown, /recompute/);
  await go(other.page, "#/overview");
  assert.match(await other.page.textContent("#overview-tail .note"), /Saturated.*recompute 16\.7 min/);
  assert.deepEqual(other.errors, []);
  await other.close();
});

test("saturated points of a sweep stand in a strip above the others", async () => {
  await go(page, "#/sweep");
  assert.match(await page.textContent("#scatter svg"), /saturated/);
  const rows = data.inputs.find(({ content }) => content.schema === "kvcap.sweep_rows/1").content.columns;
  assert.ok(rows["stable.verdict"].includes("saturated"));
});

test("targets and intervals are drawn where the data has them", async () => {
  await go(page, "#/capacity");
  assert.match(await page.textContent("main svg"), /target \u2264 200 ms/);
  await go(page, "#/latency?runs=demo");
  assert.match(await page.textContent("#cdf svg"), /target \u2264 1,000 ms/);
  const { results } = data.inputs.find(({ name }) => name === "demo").content;
  const ink = await page.evaluate(() =>
    document.documentElement.dataset.theme === "dark" ? "#e6e8ec" : "#1a1d23",
  );
  const whiskers = await page.$$eval(`#breakdown svg path[stroke="${ink}"]`, (all) => all.length);
  assert.ok(whiskers >= results.length, `${whiskers} strokes of whiskers`);
});

test("simulated time has a unit that people read", async () => {
  await go(page, "#/resources?runs=demo");
  assert.match(await page.textContent("#busy-hcache svg"), /simulated time \(min\)/);
});

test("whiskers stay inside their chart and do not go below 0", async () => {
  await go(page, "#/latency?runs=demo");
  const input = structuredClone(data.inputs.find(({ name }) => name === "demo"));
  // An interval that reaches below 0, and one that is wider than all values.
  const [first, second] = input.content.results;
  first.intervals.mean_ttft_ms.half_width = 3 * first.metrics.mean_ttft_ms;
  second.intervals.p99_itl_ms.half_width = 9 * second.metrics.p99_itl_ms;
  const other = await open(browser, `${write_page("wide", { ...data, inputs: [input] })}#/latency`);
  for (const id of ["breakdown", "itl-tail"]) {
    const outside = await other.page.$eval(`#${id} svg`, (svg) => {
      const area = svg.getBoundingClientRect();
      const ink = document.documentElement.dataset.theme === "dark" ? "#e6e8ec" : "#1a1d23";
      return [...svg.querySelectorAll(`path[stroke="${ink}"]`)]
        .map((one) => one.getBoundingClientRect())
        .filter(({ left, right }) => left < area.left + 20 || right > area.right).length;
    });
    assert.equal(outside, 0, id);
  }
  assert.deepEqual(other.errors, []);
  await other.close();
});

test("every axis has at least two labels", async () => {
  await go(page, "#/latency?runs=demo");
  const labels = await page.$$eval("#itl text", (all) => all.map((one) => one.textContent));
  assert.ok(labels.filter((text) => /^[\d.,]+$/.test(text)).length >= 6 + 2, labels.join(" "));
});

test("the key of a cost chart has the colours of its bars", async () => {
  await go(page, "#/overview?runs=demo");
  const [key, bars] = await page.$eval("#cost", (figure) => [
    [...figure.querySelectorAll(".key i")].map((one) => getComputedStyle(one).backgroundColor),
    [...figure.querySelectorAll("svg path")].map((one) => getComputedStyle(one).fill),
  ]);
  assert.ok(key.length > 0);
  for (const colour of key) assert.ok(bars.includes(colour), `${colour} of ${bars}`);
});
