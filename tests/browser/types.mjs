// Checks the types of the pages' sources. Exit code 77 where the compiler is not installed.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

const app = process.env.KVCAP_REPORT_APP;
const compiler = `${app}/node_modules/.bin/tsc`;
if (!existsSync(compiler)) {
  console.log("no TypeScript compiler: the pages' packages are not installed");
  process.exit(77);
}
process.exit(spawnSync(compiler, ["--noEmit", "-p", app], { stdio: "inherit" }).status ?? 1);
