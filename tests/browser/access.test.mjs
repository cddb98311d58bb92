// Readers with other eyes, hands and screens: axe finds nothing serious, nothing is wider than a phone.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { axe_path, go, launch, open } from "./browser.mjs";
import { full_report, write_page } from "./fixtures.mjs";

let browser, url;
before(async () => {
  url = write_page("access", full_report());
  browser = await launch();
});
after(() => browser?.close());

const pages_of = (page) =>
  page.$$eval("nav a", (all) => all.map((one) => one.getAttribute("href")).slice(0, -1));

for (const mode of ["light", "dark"]) {
  test(`axe has no serious complaint about any page in ${mode} colours`, async () => {
    const { page, close } = await open(browser, url, { colorScheme: mode });
    await page.evaluate(readFileSync(axe_path(), "utf8"));
    for (const hash of await pages_of(page)) {
      await go(page, hash);
      // One of the tables behind charts, too: the others are alike.
      await page.evaluate(() => (document.querySelector("details").open = true));
      const found = await page.evaluate(
        async (rules) => {
          const { violations } = await globalThis.axe.run(
            { exclude: [".chart svg", "tbody tr:nth-child(n + 12)"] },
            { runOnly: rules },
          );
          return violations
            .filter((one) => one.impact === "serious" || one.impact === "critical")
            .map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 200)} (${one.nodes[0].failureSummary})`);
        },
        mode === "light" ? ["wcag2a", "wcag2aa", "wcag21aa"] : ["color-contrast"],
      );
      assert.deepEqual(found, [], hash);
    }
    await close();
  });
}

// The labels of charts that lie on each other or leave their chart.
const crowded_labels = (page) =>
  page.$$eval("figure svg", (charts) =>
    charts.flatMap((chart) => {
      const frame = chart.getBoundingClientRect();
      const labels = [...chart.querySelectorAll("text")].filter((one) => one.textContent.trim() !== "");
      const boxes = labels.map((one) => one.getBoundingClientRect());
      const over = (a, b) =>
        Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 &&
        Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
      return labels.flatMap((label, at) => {
        const names = labels.slice(at + 1).filter((_, next) => over(boxes[at], boxes[at + 1 + next]));
        const leaves = boxes[at].right > frame.right + 2 || boxes[at].left < frame.left - 2;
        const where = `${chart.closest("figure").id}: ${label.textContent}`;
        return [
          ...names.map((one) => `${where} on ${one.textContent}`),
          ...(leaves ? [`${where} is cut`] : []),
        ];
      });
    }),
  );

test("on a phone no page is wider than the screen, and no label of a chart covers another", async () => {
  const { page, errors, close } = await open(browser, url, { viewport: { width: 400, height: 800 } });
  for (const hash of await pages_of(page)) {
    await go(page, hash);
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 400, `${hash} is ${width} px wide`);
    assert.deepEqual(await crowded_labels(page), [], hash);
  }
  assert.deepEqual(errors, []);
  await close();
});

test("on a phone a table that is wider than the screen says that it scrolls", async () => {
  const { page, close } = await open(browser, `${url}#/overview?runs=demo`, {
    viewport: { width: 400, height: 800 },
  });
  const shown = () =>
    page.$eval(".scroller:has(.headline)", (element) => ({
      hint: element.querySelector(".hint").checkVisibility(),
      faded: element.querySelector(".overflowing") !== null,
    }));
  assert.deepEqual(await shown(), { hint: true, faded: true });
  await page.$eval(".scroll:has(.headline)", (element) => (element.scrollLeft = element.scrollWidth));
  await page.waitForFunction(() => !document.querySelector(".scroller:has(.headline) .overflowing"));
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.waitForFunction(
    () => !document.querySelector(".scroller:has(.headline) .hint").checkVisibility(),
  );
  await close();
});

test("every chart has a sentence, takes the focus and shows what the arrow keys reach", async () => {
  const { page, close } = await open(browser, url);
  for (const hash of await pages_of(page)) {
    await go(page, hash);
    const labels = await page.$$eval(".chart", (all) =>
      all.map((one) => `${one.tabIndex} ${one.getAttribute("aria-label")}`),
    );
    for (const label of labels) assert.match(label, /^0 .{20,}/);
  }
  await go(page, "#/latency");
  await page.focus("#breakdown .chart");
  await page.keyboard.press("ArrowRight");
  await page.waitForSelector("#breakdown .tip", { state: "visible" });
  await close();
});
