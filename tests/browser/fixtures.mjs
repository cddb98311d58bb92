// Inputs for the page, made by kvcap itself, and the page filled with them.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

export const root = here("../..");
export const kvcap_path = resolve(process.env.KVCAP ?? join(root, "build/kvcap"));
export const work = join(tmpdir(), `kvcap-report-${process.pid}`);
mkdirSync(work, { recursive: true });

// stdout of kvcap, parsed. `codes`: which exit codes are fine (3: a check is outside its tolerance).
export function kvcap(args, codes = [0]) {
  const options = { cwd: root, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] };
  try {
    return JSON.parse(execFileSync(kvcap_path, args, options));
  } catch (error) {
    if (error.stdout && codes.includes(error.status)) return JSON.parse(error.stdout);
    throw new Error(`kvcap ${args.join(" ")}: ${error.message}`);
  }
}

// A file of JSON among the test's own.
export function file(name, content) {
  const path = join(work, name);
  writeFileSync(path, JSON.stringify(content));
  return path;
}

export const input = (name, content, side = "after") => ({ name, path: `${name}.json`, side, content });

const pages = ["overview", "latency", "cache", "resources", "restoration", "sweep", "plan", "validation", "changes"];

export function report(title, inputs, takeaways = {}) {
  const said = Object.fromEntries(pages.map((page) => [page, takeaways[page] ?? [`What the page ${page} says first.`]]));
  return { schema: "kvcap.report/1", title, kvcap_version: "0.0.0", inputs, takeaways: said };
}

const slot = '<script type="application/json" id="kvcap-data">';

// The page as a file on disk, filled as kvcap report fills it; returns its address.
export function write_page(name, data) {
  const template = readFileSync(join(root, "report/dist/page.html"), "utf8");
  const at = template.indexOf(slot);
  if (at < 0) throw new Error("dist/page.html has no place for data");
  const text = typeof data === "string" ? data : JSON.stringify(data).replaceAll("<", "\\u003c");
  const path = join(work, `${name}.html`);
  writeFileSync(path, template.slice(0, at + slot.length) + text + template.slice(at + slot.length));
  return `file://${path}`;
}
