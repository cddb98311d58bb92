// Entry for ctest: builds the page where it is not built, then runs every test of this folder in Chromium.
// Exit code 77 says that they could not run here.
//
//   KVCAP                the kvcap to make inputs with (build/kvcap)
//   CHROMIUM             /usr/bin/chromium
//   KVCAP_SCREENSHOTS    where screenshots go (build/report/screenshots)
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { what_is_missing } from "./browser.mjs";
import { kvcap_path, make_inputs, work } from "./fixtures.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const missing = what_is_missing() ?? (existsSync(kvcap_path) ? null : `no kvcap at ${kvcap_path} (build it, or set KVCAP)`);
if (missing !== null) {
  console.error(`SKIPPED: the report's browser tests did not run: ${missing}`);
  process.exit(77);
}
const build = spawnSync(process.execPath, ["build.mjs"], { cwd: join(here, "../../report"), stdio: "inherit" });
if (build.status !== 0) process.exit(1);
const files = readdirSync(here).filter((name) => name.endsWith(".test.mjs"));
let status = 1;
try {
  make_inputs();
  const tests = spawnSync(
    process.execPath,
    ["--test", "--test-concurrency=1", "--test-reporter=spec", ...files.map((name) => join(here, name))],
    { stdio: "inherit", env: { ...process.env, KVCAP_REPORT_WORK: work } },
  );
  status = tests.status ?? 1;
} finally {
  rmSync(work, { recursive: true, force: true });
}
process.exit(status);
