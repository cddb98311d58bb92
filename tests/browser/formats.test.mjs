// Numbers on the page, by the table of examples that the terminal's formats are tested with.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const app = process.env.KVCAP_REPORT_APP ?? join(root, "report");
const { transformSync } = createRequire(pathToFileURL(join(app, "package.json")))("esbuild");
const { code } = transformSync(readFileSync(join(root, "report/src/format.ts"), "utf8"), { loader: "ts" });
const { show, show_interval } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
const { numbers, intervals } = JSON.parse(readFileSync(join(root, "tests/golden/formats.json"), "utf8"));

test("the page writes numbers as the table of examples says", () => {
  for (const { value, page } of numbers) assert.equal(show(value), page);
  for (const { value, half_width, page } of intervals) assert.equal(show_interval(value, half_width), page);
});
