// Entry for ctest: runs every test of this folder in Chromium, on the page that is part of kvcap. Exit code 77
// says that they could not run here.
//
//   KVCAP                the kvcap to make inputs with (build/kvcap)
//   KVCAP_REPORT_APP     where `npm ci` was run (report)
//   CHROMIUM             /usr/bin/chromium
//   KVCAP_SCREENSHOTS    where screenshots go (build/screenshots)
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { what_is_missing } from "./browser.mjs";
import { kvcap_path, make_inputs, work } from "./fixtures.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const missing =
  what_is_missing() ?? (existsSync(kvcap_path) ? null : `no kvcap at ${kvcap_path} (build it, or set KVCAP)`);
if (missing !== null) {
  console.error(`SKIPPED: the report's browser tests did not run: ${missing}`);
  process.exit(77);
}
function run(names, at_once) {
  const paths = names.map((name) => join(here, name));
  const options = ["--test", `--test-concurrency=${at_once}`, "--test-reporter=spec"];
  const env = { ...process.env, KVCAP_REPORT_WORK: work };
  return spawnSync(process.execPath, [...options, ...paths], { stdio: "inherit", env }).status ?? 1;
}

const files = readdirSync(here).filter((name) => name.endsWith(".test.mjs"));
let status = 1;
try {
  make_inputs();
  // What measures time runs alone.
  const alone = files.filter((name) => name.startsWith("speed"));
  const others = files.filter((name) => !name.startsWith("speed"));
  status = Math.max(run(alone, 1), run(others, 2));
} finally {
  rmSync(work, { recursive: true, force: true });
}
process.exit(status);
