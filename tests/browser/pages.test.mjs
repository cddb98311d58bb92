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

// Pictures of a page for people who judge it: on a desk and on a phone, in light and dark colours.
async function take_pictures(page, name) {
  for (const [width, height] of [
    [420, 900],
    [1280, 800],
  ]) {
    await page.setViewportSize({ width, height });
    for (const mode of ["dark", "light"]) {
      const other = await page.evaluate((wanted) => document.documentElement.dataset.theme !== wanted, mode);
      if (other) await page.click("#theme");
      const path = join(screenshots, `${name}-${width}-${mode}.jpg`);
      await page.screenshot({ path, fullPage: mode === "light", type: "jpeg", quality: 80 });
    }
  }
}

const open_tables = () =>
  page.evaluate(async () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
    await new Promise((done) => setTimeout(done, 50));
  });

for (const name of pages) {
  test(`${name}: charts are drawn, says something first, logs no error`, async () => {
    await go(page, `#/${name}`);
    await take_pictures(page, name);
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
  const { lines } = data.assumptions.find(({ input }) => input === "demo");
  const assumed = await page.$$eval('h2:text("What was assumed") + ul li', (all) =>
    all.map((one) => one.textContent),
  );
  assert.deepEqual(assumed, lines);
  assert.ok(lines.length > 0 && lines.length <= 6);
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
    ["", /contains no data/],
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

test("the page runs and applies only what it was built with", async () => {
  const { head } = page_around_data();
  const policy = head.match(/Content-Security-Policy"\s+content="([^"]+)"/)[1];
  assert.doesNotMatch(policy, /unsafe/);
  for (const what of ["script-src", "style-src"]) assert.match(policy, new RegExp(`${what} 'sha256-[^']+'`));
  const other = await open(browser, write_page("policy", data));
  const seen = await other.page.evaluate(async () => {
    const said = [];
    addEventListener("securitypolicyviolation", (event) => said.push(event.effectiveDirective));
    document.body.append(
      Object.assign(document.createElement("script"), { textContent: "globalThis.ran = 1" }),
    );
    document.body.insertAdjacentHTML("beforeend", '<i style="color: red" onclick="1"></i>');
    await new Promise((done) => setTimeout(done, 20));
    return { said: said.sort(), ran: globalThis.ran ?? null };
  });
  assert.equal(seen.ran, null);
  assert.ok(seen.said.includes("script-src-elem") && seen.said.includes("style-src-attr"), `${seen.said}`);
  await other.close();
});

test("the footer names what the page contains, with its licences", async () => {
  await go(page, "#/overview");
  await page.click("footer summary");
  const text = await page.textContent("footer");
  for (const part of ["echarts 6", "zrender 6", "tslib 2", "Apache License", "Baidu", "Mike Bostock"])
    assert.ok(text.includes(part), part);
});

// A report of one input, and its overview.
async function overview_of(schema) {
  const input = data.inputs.find(({ content }) => content.schema === schema);
  const one = await open(browser, write_page(`only-${schema.split("/")[0]}`, { ...data, inputs: [input] }));
  const name = schema.replace(/^kvcap\.|\/1$/g, "");
  await one.page.screenshot({
    path: join(screenshots, `overview-of-${name}-1280-light.jpg`),
    fullPage: true,
    type: "jpeg",
    quality: 80,
  });
  const card = await one.page.$eval(".card", (element) => ({
    top: element.getBoundingClientRect().top,
    text: element.querySelector("dl").textContent,
    charts: element.querySelectorAll(".chart svg").length,
    machine: element.querySelector(".machine svg")?.textContent ?? "",
  }));
  assert.deepEqual(one.errors, []);
  await one.close();
  return { card, content: input.content };
}

for (const [schema, said] of [
  [
    "kvcap.plan_result/1",
    [/Meets the targets/, /5\.33 \$\/h/, /plausible machines|seed/, /p99 TTFT \u2264 500 ms/],
  ],
  ["kvcap.capacity/1", [/requests\/s/, /\$/, /95 % interval/, /p99 TTFT \u2264 200 ms/]],
  ["kvcap.sweep_rows/1", [/p99 TTFT/, /\$\/M tokens/, /one run per point/, /saturated/]],
  ["kvcap.compare/1", [/targets/, /\$\/h/, /replications/]],
]) {
  test(`the overview of ${schema} begins with its answer, its chart and the machine`, async () => {
    const { card } = await overview_of(schema);
    for (const one of said) assert.match(card.text, one);
    assert.ok(card.top < 420, `the card is ${card.top} px down`);
    assert.equal(card.charts, 1);
    for (const part of [/A100/, /PCIe/, /SSD/, /a step runs [\d.]+ % of the time/]) assert.match(card.machine, part);
  });
}

test("no page shows a metric's or a field's path, or +-", async () => {
  for (const name of pages) {
    await go(page, `#/${name}`);
    const text = await page.evaluate(() => {
      const main = document.querySelector("main").cloneNode(true);
      for (const raw of main.querySelectorAll(".command, code, option")) raw.remove();
      return main.textContent.replace(/--set [\w.=]+/g, "");
    });
    const paths =
      text.match(/(?<![\w.-])(cost|hardware|policy|workload|utilization)\.\w+|\bp99_\w+_ms|\+-/g) ?? [];
    assert.deepEqual(paths, [], name);
  }
});

test("no table is cut on a desk", async () => {
  await page.setViewportSize({ width: 1280, height: 800 });
  for (const name of pages) {
    await go(page, `#/${name}`);
    const cut = await page.$$eval(".scroller .scroll", (all) =>
      all
        .filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth + 3)
        .map((one) => one.getAttribute("aria-label")),
    );
    assert.deepEqual(cut, [], name);
  }
});

test("the answer of a sweep compares its choices under one load", async () => {
  const { card } = await overview_of("kvcap.sweep_rows/1");
  assert.match(card.text, /Cheapest that meets the targets(kv_offload|hcache), \d SSDs?at session rate/);
});

test("a sweep offers each metric once, those of the first table first", async () => {
  await go(page, "#/sweep");
  const offered = await page.$$eval("#choose-metric option", (all) => all.map((one) => one.textContent));
  assert.equal(new Set(offered).size, offered.length);
  assert.ok(offered.length < 80, `${offered.length} metrics`);
  assert.ok(offered.indexOf("p99 TTFT (ms)") < 10);
});

test("nothing is bold inside noise", async () => {
  await go(page, "#/overview?runs=demo");
  const bold = await page.$$eval("table.headline tbody tr", (rows) =>
    rows.map((row) => [row.firstChild.textContent, row.querySelectorAll("strong").length]),
  );
  const { differences } = data.inputs.find((input) => input.name === "demo").content;
  const undecided = (metric) =>
    differences
      .filter((one) => one.metric === metric && one.setting !== "ideal" && one.against !== "ideal")
      .every(({ interval: [low, high] }) => low <= 0 && high >= 0);
  const count = Object.fromEntries(bold);
  assert.ok(undecided("p99_itl_ms"), "the test needs a metric that the runs do not tell apart");
  assert.equal(count["p99 ITL"], 0);
  assert.ok(count["p99 TTFT"] > 0, "what the runs decide is bold");
});
