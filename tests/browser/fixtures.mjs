// Inputs for the page, made by kvcap itself, and the page that kvcap report writes with other data in it.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));
export const kvcap_path = resolve(process.env.KVCAP ?? join(root, "build/kvcap"));
export const screenshots = resolve(process.env.KVCAP_SCREENSHOTS ?? join(root, "build/screenshots"));

// A folder of this run, shared by its test files.
export const work = process.env.KVCAP_REPORT_WORK ?? mkdtempSync(join(tmpdir(), "kvcap-report-"));
export const at = (name) => join(work, name);

// stdout of kvcap. Exit code 3 says that a check is outside its tolerance, which is for others to judge.
export function kvcap(args, cwd = root) {
  const options = { cwd, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] };
  try {
    return execFileSync(kvcap_path, args, options);
  } catch (error) {
    if (error.status === 3 && error.stdout) return error.stdout;
    throw new Error(`kvcap ${args.join(" ")}: ${error.stderr || error.message}`);
  }
}

const write = (name, content) => {
  writeFileSync(at(name), typeof content === "string" ? content : JSON.stringify(content));
  return at(name);
};
const demo = join(root, "scenarios/demo.json");
const policies = "recompute,kv_offload,hcache,ideal";

const plan = {
  schema: "kvcap.plan/1",
  name: "small",
  base: { ...JSON.parse(readFileSync(demo, "utf8")), sessions: undefined },
  search: { "policy.name": ["recompute", "kv_offload", "hcache"], "hardware.ssd.count": [1, 2, 4] },
  meet: { p99_ttft_ms: { max: 500 } },
  minimize: "cost.usd_per_hour",
};
plan.base.workload.sessions = 40;

// 2 policies x 4 numbers of SSDs x 25 rates.
const sweep = {
  schema: "kvcap.sweep/1",
  base: demo,
  grid: {
    "workload.sessions": [10],
    replications: [1],
    "policy.name": ["kv_offload", "hcache"],
    "hardware.ssd.count": [1, 2, 4, 8],
    "workload.arrivals.sessions_per_s": Array.from({ length: 25 }, (_, index) => (index + 1) / 50),
  },
};

// Writes every kind of input; the slowest takes a few seconds.
export function make_inputs() {
  const sessions = (count) => ["--set", `workload.sessions=${count}`];
  write("demo.json", kvcap(["compare", demo, "--policies", policies, ...sessions(80), "--json"]));
  write(
    "bounds.json",
    kvcap(["compare", demo, "--policies", "hcache", "--bounds", ...sessions(40), "--json"]),
  );
  write(
    "large.json",
    kvcap([
      "compare",
      demo,
      "--policies",
      "kv_offload,hcache",
      ...sessions(9500),
      "--set",
      "replications=1",
      "--json",
    ]),
  );
  write(
    "restore.json",
    kvcap([
      "restore",
      "--model",
      "llama-2-7b",
      "--hardware",
      "a100-40g-4x-pm9a3",
      "--tokens",
      "4096",
      "--json",
    ]),
  );
  write("break-even.json", kvcap(["plan", "scenarios/plans/break-even-7b.json", "--break-even", "--json"]));
  write("plan.json", kvcap(["plan", write("small.json", plan), "--json"]));
  write("capacity.json", kvcap(["capacity", demo, "--meet", "p99_ttft_ms<=200", "--seeds", "2", "--json"]));
  write("trace.json", kvcap(["trace", "stats", "traces/sample-chat.jsonl", "--json"]));
  write("validation.json", kvcap(["validate", "--suite", "twin", "--suite", "hits", "--quick", "--json"]));
  kvcap(["sweep", write("sweep.json", sweep), "--out", at("sweep")]);
  // The same comparison on half the SSDs, under the same name.
  kvcap([
    "compare",
    demo,
    "--policies",
    policies,
    ...sessions(80),
    "--set",
    "hardware.ssd.count=2",
    "--out",
    at("before/demo"),
  ]);
}

// The document that kvcap report puts into the page.
export function report_of(paths, before = []) {
  const old = before.length > 0 ? ["--before", ...before] : [];
  return JSON.parse(kvcap(["report", ...paths, ...old, "--format", "json"]));
}

export const full_report = () =>
  report_of(
    ["demo", "bounds", "restore", "break-even", "plan", "capacity", "trace", "validation"]
      .map((name) => at(`${name}.json`))
      .concat(at("sweep/results.sqlite")),
    [at("before")],
  );

const slot = '<script type="application/json" id="kvcap-data">';

// The page that kvcap report writes, before and after its data.
export function page_around_data() {
  const path = at("template.html");
  if (!existsSync(path)) kvcap(["report", at("demo.json"), "-o", path]);
  const [head, filled, ...more] = readFileSync(path, "utf8").split(slot);
  if (filled === undefined || more.length > 0) throw new Error("the page has not one place for data");
  return { head: head + slot, tail: filled.slice(filled.indexOf("</script>")) };
}

// The page as a file on disk, with `data` (text as it is, or a document) in its place; returns its address.
export function write_page(name, data) {
  const { head, tail } = page_around_data();
  const text = typeof data === "string" ? data : JSON.stringify(data).replaceAll("<", "\\u003c");
  writeFileSync(at(`${name}.html`), head + text + tail);
  return `file://${at(`${name}.html`)}`;
}
