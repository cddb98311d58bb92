// The page of kvcap serve: a form becomes a command, its run comes in, and the command has the same results.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { axe_path, launch, open } from "./browser.mjs";
import { kvcap_path, root, screenshots } from "./fixtures.mjs";

let browser, server, address, tab, page;

before(async () => {
  server = spawn(kvcap_path, ["serve"], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  });
  address = await new Promise((found) =>
    server.stdout.once("data", (line) => found(String(line).split(" ")[0])),
  );
  browser = await launch();
  tab = await visit({ permissions: ["clipboard-read", "clipboard-write"] });
  page = tab.page;
});
after(async () => {
  server?.kill("SIGINT");
  await browser?.close();
  assert.deepEqual(tab?.errors ?? [], []);
});

const visit = (options = {}) => open(browser, address, { server: new URL(address).origin, ...options });
const input = (name) => page.locator(`[id="input-${name}"]`);
const command = () => page.textContent("#command");

// Resolves when the server has tried the command of what the form has now.
async function until_command(pattern) {
  await page.waitForFunction(
    (source) => new RegExp(source).test(document.getElementById("command")?.textContent),
    pattern.source,
  );
}
const until_runs = (pattern) => page.waitForSelector(`#status:text-matches("${pattern}")`);

async function picture(name, { page: of }) {
  mkdirSync(screenshots, { recursive: true });
  await of.screenshot({
    path: join(screenshots, `serve-${name}.png`),
    fullPage: true,
  });
}

test("the form has the values of its scenario, and the command only what was changed", async () => {
  assert.equal(await input("model").inputValue(), "llama-2-7b");
  assert.equal(await input("workload.sessions").inputValue(), "400");
  assert.equal(await command(), "kvcap compare demo --policies recompute,hcache");
  await input("rate").fill("2");
  await until_command(/--rate 2 /);
  await input("rate").fill("");
  await until_command(/^kvcap compare demo --policies recompute,hcache$/);
  await input("scenario").selectOption("chat-vllm");
  await until_command(/^kvcap compare chat-vllm --policies recompute,vllm_offload$/);
  assert.equal(await input("model").inputValue(), "llama-3.1-8b");
  await input("scenario").selectOption("demo");
  await until_command(/^kvcap compare demo /);
});

test("an error stands beside the input that it names, and nothing can be run", async () => {
  await input("gpu").fill("h10");
  const error = page.locator('[id="input-gpu-error"]');
  await error.filter({ hasText: 'did you mean "h100-sxm"?' }).waitFor();
  assert.equal(await input("gpu").getAttribute("aria-invalid"), "true");
  assert.ok(await page.isDisabled("#run"));
  // Every input has its own error, in the words of the form.
  await input("slo.ttft_ms").fill("-5");
  await input("rate").fill("fast");
  await page.locator('[id="input-rate-error"]').filter({ hasText: /^found "fast", allowed: a number$/ }).waitFor();
  assert.match(await page.textContent('[id="input-slo.ttft_ms-error"]'), /^found -5, allowed: a number from /);
  assert.match(await error.textContent(), /^found "h10"/);
  assert.equal(await page.textContent("#command-summary"), "3 inputs have errors.");
  for (const name of ["slo.ttft_ms", "rate"]) await input(name).fill("");
  await input("gpu").fill("");
  await error.filter({ hasNotText: "found" }).waitFor({ state: "attached" });
  await page.waitForSelector("#run:enabled");
});

test("who opens the address without its token reads what to do, not JSON", async () => {
  const context = await browser.newContext();
  const other = await context.newPage();
  await other.goto(address.replace(/token=.*/, "token=0"));
  assert.match(await other.textContent("body"), /^the token is missing or wrong; open the address that kvcap serve/);
  await context.close();
});

test("a rate has the unit that people read", async () => {
  assert.equal(await page.textContent('label[for="input-rate"] .unit'), " requests/s");
});

test("any field of the table can be found, added and set", async () => {
  await page.fill("#search", "batched tokens");
  await page.click('.found button:has-text("serving.max_num_batched_tokens")');
  await input("serving.max_num_batched_tokens").fill("1024");
  await until_command(/--set serving.max_num_batched_tokens=1024/);
  await page.click('button:has-text("Remove")');
  await until_command(/^kvcap compare demo --policies recompute,hcache$/);
});

test("a run comes in, is reported, and its command has the same results", async () => {
  await input("workload.sessions").fill("12");
  await input("replications").fill("2");
  await input("draws").fill("0");
  await page.check("#policy-kv_offload");
  await until_command(/recompute,kv_offload,hcache/);
  await until_command(/sessions=12/);
  assert.match(await page.textContent("#command-summary"), /^6 simulations: recompute, kv_offload, hcache$/);
  await page.click("#copy");
  await page.waitForSelector("#copy:has-text('Copied')");
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(copied, await command());

  await page.click("#run");
  await until_runs("Run 1: done");
  const frame = page.frameLocator("iframe");
  await frame.locator("h1").first().waitFor();
  const report = JSON.parse(await frame.locator("#kvcap-data").textContent());
  const shown = report.inputs[0].content.results;
  const answer = execFileSync("bash", ["-c", `${copied.replace(/^kvcap/, `'${kvcap_path}'`)} --json`], {
    cwd: root,
    maxBuffer: 1 << 28,
  });
  const { results } = JSON.parse(answer);
  assert.deepEqual(
    shown.map(({ policy, metrics }) => [policy, metrics]),
    results.map(({ policy, metrics }) => [policy, metrics]),
  );
  await picture("done", tab);
});

test("the report reaches neither the form nor its token", async () => {
  const frame = page.frames().find((one) => one !== page.mainFrame());
  const reached = await frame.evaluate(() => {
    try {
      return parent.document.title;
    } catch (error) {
      return error.name;
    }
  });
  assert.equal(reached, "SecurityError");
});

test("a long run shows what it does, and can be cancelled", async () => {
  await input("workload.sessions").fill("400000");
  await until_command(/sessions=400000/);
  await page.click("#run");
  await until_runs("Run 2: running");
  await page.waitForSelector("progress");
  await page.click("#cancel");
  await until_runs("Run 2: cancelled");
  assert.equal(await page.$("iframe"), null);
  assert.equal(await page.getAttribute("#run-2", "aria-pressed"), "true");
});

test("a page that is loaded again has its form and the runs of the server", async () => {
  await input("workload.sessions").fill("20");
  await until_command(/sessions=20\b/);
  await page.reload();
  await until_command(/sessions=20\b/);
  await until_runs("Run 2: cancelled");
});

test("the first click on a policy counts after a value was typed", async () => {
  await input("workload.sessions").fill("30");
  await page.click("#policy-kv_offload");
  await until_command(/kv_offload/);
});

for (const [name, options] of [
  ["light", { colorScheme: "light" }],
  ["phone", { colorScheme: "dark", viewport: { width: 420, height: 800 } }],
]) {
  test(`axe has no serious complaint, and nothing is wider than the screen: ${name}`, async () => {
    // axe is a script, and the page's own policy allows none.
    const other = await visit({ ...options, bypassCSP: true });
    await other.page.evaluate(() => (document.querySelector(".policies details").open = true));
    await other.page.fill("#search", "think time");
    await picture(name, other);
    const width = await other.page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= other.page.viewportSize().width, `${width} px wide`);
    await other.page.evaluate(readFileSync(axe_path(), "utf8"));
    const found = await other.page.evaluate(async () => {
      const { violations } = await globalThis.axe.run({
        runOnly: ["wcag2a", "wcag2aa", "wcag21aa"],
        iframes: false, // the report has tests of its own
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
