// The page's sources agree with their types, also those of pages that this build leaves out.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { at, root } from "./fixtures.mjs";

const app = resolve(process.env.KVCAP_REPORT_APP ?? join(root, "report"));

test("the sources of every page have the types that they use", () => {
  const config = { extends: join(root, "report/tsconfig.json"), include: [join(app, "src")] };
  writeFileSync(at("tsconfig.json"), JSON.stringify(config));
  const { stdout, status } = spawnSync(join(app, "node_modules/.bin/tsc"), ["-p", at("tsconfig.json")], {
    encoding: "utf8",
  });
  assert.equal(status, 0, stdout);
});
