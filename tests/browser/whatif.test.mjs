// The page of kvcap whatif: the numbers of the program, the address as its state, and its looks.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { axe_path, go, launch, open } from "./browser.mjs";
import { at, kvcap, screenshots } from "./fixtures.mjs";

const settings = 200;
const seed = 20261128;
const tolerance = 1e-9;

let browser, tab, page, catalogue;
let why_not = false; // why the page's tests are skipped

const ask = (questions) => {
  writeFileSync(at("questions.jsonl"), questions.map((one) => JSON.stringify(one)).join("\n"));
  return kvcap(["whatif", "--ask", at("questions.jsonl")])
    .trim()
    .split("\n")
    .map(JSON.parse);
};
try {
  kvcap(["whatif", "-o", at("whatif.html")]);
} catch (error) {
  why_not = String(error);
  console.error(`SKIPPED: the tests of the page of kvcap whatif did not run: ${error.message}`);
}
const skip = why_not;
const address = `file://${at("whatif.html")}`;

before(async () => {
  if (skip) return;
  [catalogue] = ask([{ ask: "catalogue" }]);
  browser = await launch();
  tab = await open(browser, address);
  page = tab.page;
});
after(async () => {
  await browser?.close();
  assert.deepEqual(tab?.errors ?? [], []);
});

// Mulberry32: the same settings in every run.
function random_numbers(state) {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

// Returns two or three questions for each setting; some settings are impossible.
function drawn_questions() {
  const next = random_numbers(seed);
  const pick = (list) => list[Math.floor(next() * list.length)];
  const length = () => Math.ceil(2 ** (4 + 14 * next()));
  return Array.from({ length: settings }, () => {
    const hardware = pick(catalogue.hardware);
    const machine = {
      model: pick(catalogue.models),
      hardware: hardware.name,
      gpus: pick([1, 1, 2, 4, 8]),
    };
    const tier = pick(hardware.tiers);
    const context = {
      ...machine,
      tokens: length(),
      new_tokens: length(),
      tier: tier?.name ?? "ssd",
    };
    const path = tier?.bandwidth_path ?? "hardware.pcie.h2d_bandwidth_bytes_per_s";
    return [
      {
        ask: "memory",
        ...machine,
        engine: pick(catalogue.engines),
        tokens: context.tokens,
      },
      { ask: "restore", ...context },
      {
        ask: "break_even",
        ...context,
        policies: ["recompute", "kv_offload", "hcache"],
        across: { path, values: [1e9 * next(), 1e10 * next()] },
        down: { path: "tokens", values: [length()] },
      },
    ];
  }).flat();
}

// Compares every leaf; returns the largest relative difference of two numbers.
function difference(found, wanted, path) {
  if (typeof wanted === "number") {
    assert.equal(typeof found, "number", path);
    const size = Math.max(Math.abs(found), Math.abs(wanted));
    return size === 0 ? 0 : Math.abs(found - wanted) / size;
  }
  if (wanted === null || typeof wanted !== "object") {
    assert.equal(found, wanted, path);
    return 0;
  }
  assert.deepEqual(Object.keys(found), Object.keys(wanted), path);
  return Math.max(
    0,
    ...Object.keys(wanted).map((key) => difference(found[key], wanted[key], `${path}/${key}`)),
  );
}

test("200 random settings have the program's numbers", { skip }, async (context) => {
  const questions = drawn_questions();
  const wanted = ask(questions);
  const found = await page.evaluate((all) => all.map((one) => globalThis.kvcap(one)), questions);
  const differences = wanted.map((one, index) =>
    difference(found[index], one, JSON.stringify(questions[index])),
  );
  const answered = wanted.filter((one) => one.error === undefined).length;
  const largest = Math.max(...differences);
  context.diagnostic(`${questions.length} questions, ${answered} answered, largest difference ${largest}`);
  assert.ok(answered > questions.length / 2, `${answered} answers`);
  assert.ok(largest <= tolerance, `difference ${largest}`);
});

test("the page is one file of less than 2 MB and requests nothing", { skip }, () => {
  const { size } = statSync(at("whatif.html"));
  assert.ok(size < 2e6, `${size} bytes`);
  assert.doesNotMatch(readFileSync(at("whatif.html"), "utf8"), /(?:src|href)="(?!data:)/);
});

test("inputs change the answer and the address, and the address brings them back", { skip }, async () => {
  assert.equal(await page.textContent("#kv-per-token"), "128 KiB");
  await page.fill("#input-gpus", "2");
  await page.fill("#input-tokens", "4096");
  await page.selectOption("#input-tier", "ssd");
  await page.waitForFunction(() => location.hash.includes("tier=ssd"));
  await page.waitForSelector("html[data-drawn]");
  const hash = await page.evaluate(() => location.hash);
  assert.match(hash, /gpus=2&engine=vllm&tokens=4096/);
  const shown = await page.textContent("#result");
  const other = await open(browser, address + hash);
  assert.equal(await other.page.textContent("#result"), shown);
  assert.deepEqual(other.errors, []);
  await other.close();
  await go(page, "#model=llama-2-7b&gpu=a100-40g-4x-pm9a3");
  assert.equal(await page.inputValue("#input-model"), "llama-2-7b");
  assert.match(
    await page.textContent("#commands"),
    /kvcap restore --model llama-2-7b --hardware a100-40g-4x-pm9a3/,
  );
});

test("what is shown is what the program prints", { skip }, async () => {
  await go(page, "#model=qwen3-32b&gpu=h100-sxm&gpus=2&tokens=4096&tier=ssd");
  const [memory, restore] = (await page.textContent("#commands"))
    .split("\n")
    .map((line) => line.split(" ").slice(1));
  const { kv_capacity_tokens } = JSON.parse(kvcap([...memory, "--json"]));
  assert.equal(await page.textContent("#kv-capacity"), `${kv_capacity_tokens.toLocaleString("en")} tokens`);
  const { policies } = JSON.parse(kvcap([...restore, "--policy", "kv_offload", "--json"]));
  const shown = await page.textContent("#restore-kv_offload");
  assert.equal(
    Number.parseFloat(shown),
    Number((1e3 * policies[0].closed_form_restore_s).toPrecision(3)),
    shown,
  );
});

test("policies join and leave the map by keyboard, and keep the focus", { skip }, async () => {
  await go(page, "#policies=recompute,hcache");
  assert.doesNotMatch(await page.textContent(".key"), /kv_offload/);
  await page.focus("#policy-kv_offload");
  await page.keyboard.press("Space");
  await page.waitForSelector(".key:has-text('kv_offload')");
  await page.waitForSelector("html[data-drawn]");
  assert.equal(await page.evaluate(() => document.activeElement.id), "policy-kv_offload");
  assert.equal(await page.locator(".map tbody tr").count(), 9);
});

test("a wrong name is an error in the words of the program, and the page goes on", { skip }, async () => {
  await go(page, "#gpu=h10");
  await page.waitForSelector('[role="alert"]:has-text("h100-sxm")');
  assert.equal(await page.getAttribute("#input-gpu", "aria-invalid"), "true");
  await go(page, "#model=%3Cimg%20src=x%3E");
  assert.equal(await page.locator("main img").count(), 0);
  await go(page, "#gpu=h100-sxm");
  assert.equal(await page.textContent("#kv-per-token"), "128 KiB");
});

for (const [name, options] of [
  ["light", { colorScheme: "light" }],
  ["dark", { colorScheme: "dark" }],
  ["phone", { colorScheme: "light", viewport: { width: 420, height: 800 } }],
  ["phone-dark", { colorScheme: "dark", viewport: { width: 420, height: 800 } }],
]) {
  test(`axe has no serious complaint, and nothing is wider than the screen: ${name}`, { skip }, async () => {
    // axe is a script, and the page's own policy allows none.
    const other = await open(browser, address, {
      ...options,
      bypassCSP: true,
    });
    mkdirSync(screenshots, { recursive: true });
    await other.page.screenshot({
      path: join(screenshots, `whatif-${name}.png`),
      fullPage: true,
    });
    const width = await other.page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= other.page.viewportSize().width, `${width} px wide`);
    await other.page.evaluate(readFileSync(axe_path(), "utf8"));
    const found = await other.page.evaluate(async () => {
      const { violations } = await globalThis.axe.run({
        runOnly: ["wcag2a", "wcag2aa", "wcag21aa"],
      });
      return violations
        .filter((one) => one.impact === "serious" || one.impact === "critical")
        .map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 200)}`);
    });
    assert.deepEqual(found, []);
    assert.deepEqual(other.errors, []);
    await other.close();
  });
}
