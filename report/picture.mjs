// Makes report.png, README's picture of a report: the head of its overview at 1280 x 800.
//
//   node picture.mjs REPORT.html [OUT.png] [#/page]
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { launch, open } from "../tests/browser/browser.mjs";

const [report, out = fileURLToPath(new URL("report.png", import.meta.url)), page = "#/overview"] =
  process.argv.slice(2);
if (!report) {
  console.error("usage: node picture.mjs REPORT.html [OUT.png] [#/page]");
  process.exit(2);
}
const browser = await launch();
try {
  const tab = await open(browser, `${pathToFileURL(resolve(report))}${page}`);
  await tab.page.screenshot({ path: out });
} finally {
  await browser.close();
}
