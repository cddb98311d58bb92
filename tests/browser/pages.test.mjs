// Every page draws what the data holds: without errors, with charts, and with no other numbers.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { go, launch, open } from "./browser.mjs";
import { full_report, page_around_data, screenshots, write_page } from "./fixtures.mjs";

const pages = [
  "overview",
  "latency",
  "cache",
  "resources",
  "restoration",
  "sweep",
  "plan",
  "capacity",
  "validation",
  "changes",
];
let browser, tab, page, data;

before(async () => {
  mkdirSync(screenshots, { recursive: true });
  data = full_report();
  browser = await launch();
  tab = await open(browser, write_page("full", data));
  page = tab.page;
});
after(() => browser?.close());

// The value that a JSON pointer names.
const pointed = (pointer) =>
  pointer
    .split("/")
    .slice(1)
    .reduce((value, key) => value[key.replaceAll("~1", "/").replaceAll("~0", "~")], data);

// "1,738 ± 166" -> 1738
const shown_number = (text) =>
  Number(text.split(" ±")[0].replaceAll(",", "").replace("−", "-").replace("e−", "e-"));

// What a shown number may be off by: half of its last digit.
function last_digit(text) {
  const [mantissa, exponent = "0"] = text.split(" ±")[0].replace("e−", "e-").split("e");
  const decimals = mantissa.includes(".") ? mantissa.split(".")[1].length : 0;
  return 0.5000001 * 10 ** (Number(exponent) - decimals);
}

const open_tables = () =>
  page.evaluate(async () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
    await new Promise((done) => setTimeout(done, 50));
  });

for (const name of pages) {
  test(`${name}: charts are drawn, says something first, logs no error`, async () => {
    for (const mode of ["dark", "light"]) {
      await page.emulateMedia({ colorScheme: mode });
      const other = await page.evaluate((wanted) => document.documentElement.dataset.theme !== wanted, mode);
      if (other) await page.click("#theme");
      await go(page, `#/${name}`);
      await page.screenshot({ path: join(screenshots, `${name}-${mode}.png`), fullPage: mode === "light" });
    }
    assert.equal(await page.textContent("h1"), name[0].toUpperCase() + name.slice(1));
    assert.ok(data.takeaways[name][0]?.length > 10, "no sentence");
    assert.equal(await page.textContent("main .lead"), data.takeaways[name][0]);
    const charts = await page.$$eval(".chart", (all) =>
      all.map((one) => one.querySelectorAll("svg path, svg rect, svg circle").length),
    );
    assert.ok(charts.length >= 1, "no chart");
    for (const marks of charts) assert.ok(marks >= 3 && marks < 2600, `a chart of ${marks} marks`);
    assert.deepEqual(tab.errors, []);
  });

  test(`${name}: every number is the JSON's`, async () => {
    await go(page, `#/${name}`);
    await open_tables();
    const cells = await page.$$eval("data[data-from]", (all) =>
      all.map((one) => ({
        from: one.dataset.from,
        value: Number(one.value),
        scale: Number(one.dataset.scale),
        text: one.textContent,
      })),
    );
    assert.ok(cells.length >= 5, `${cells.length} numbers`);
    for (const { from, value, scale, text } of cells) {
      assert.equal(value, pointed(from), from);
      const exact = value * scale;
      const off = Math.abs(shown_number(text) - exact);
      assert.ok(off <= last_digit(text) + 1e-9 * Math.abs(exact), `${from}: ${exact} is shown as ${text}`);
    }
    const charts = await page.$$eval("figure", (all) =>
      all.map((one) => [one.id, one.querySelectorAll("tbody tr").length]),
    );
    for (const [id, rows] of charts) assert.ok(rows > 0, `${id}: no table behind the chart`);
  });
}

test("Overview: policies are columns, and each metric stands in its row", async () => {
  await go(page, "#/overview?runs=demo");
  const table = await page.$$eval("table.headline tr", (rows) =>
    rows.map((row) => [...row.children].map((one) => one.textContent)),
  );
  const { results } = data.inputs.find((input) => input.name === "demo").content;
  assert.deepEqual(
    table[0].slice(2),
    results.map((result) => result.setting),
  );
  const row = (name) => table.find((cells) => cells[0] === name).slice(1);
  const [unit, ...ttft] = row("mean TTFT");
  assert.equal(unit, "ms");
  results.forEach((result, at) => {
    assert.ok(Math.abs(shown_number(ttft[at]) - result.metrics.mean_ttft_ms) <= last_digit(ttft[at]));
    assert.ok(
      Math.abs(shown_number(row("token hit rate")[1 + at]) - 100 * result.metrics.token_hit_rate) < 0.5,
    );
  });
  assert.equal(await page.textContent(".badge"), results[0].provenance.hardware);
  for (const note of results[0].scenario.notes) assert.ok((await page.textContent("main")).includes(note));
});

test("Changes: differences are after less before, and every metric can be shown", async () => {
  await go(page, "#/changes?run=hcache&show=all");
  const rows = await page.$$eval(".block table tbody tr", (all) =>
    all.map((row) => [...row.querySelectorAll("data")].slice(0, 3).map((one) => Number(one.value))),
  );
  const full = rows.filter((row) => row.length === 3);
  assert.ok(full.length > 60);
  for (const [old, now, difference] of full) assert.equal(difference, now - old);
});

test("pages without data are not in the navigation", async () => {
  const only = { ...data, inputs: data.inputs.filter((input) => input.content.schema === "kvcap.restore/1") };
  const one = await open(browser, write_page("restore-only", only));
  const names = await one.page.$$eval("nav a", (all) => all.map((link) => link.textContent));
  assert.deepEqual(names, ["Overview", "Restoration", "All pages"]);
  assert.deepEqual(one.errors, []);
  await one.close();
});

test("an empty page, and one of another schema, say so", async () => {
  for (const [text, said] of [
    ["", /holds no data/],
    ['{"schema":"kvcap.report/2"}', /kvcap\.report\/1.*kvcap\.report\/2/],
    ["{", /not JSON/],
  ]) {
    const context = await browser.newContext();
    const bare = await context.newPage();
    await bare.goto(write_page("bare", text));
    assert.match(await bare.textContent('[role="alert"]'), said);
    await context.close();
  }
});

test("the page is one file of less than 3 MB that names no other", () => {
  const { head, tail } = page_around_data();
  const html = head + tail;
  assert.ok(Buffer.byteLength(html) < 3e6);
  assert.doesNotMatch(html, /<(script|link|img)[^>]+(src|href)=["']?(?!data:)[^"'>\s]+/i);
  assert.match(html, /default-src 'none'/);
});
