// Bundles src/ into dist/page.html: one file that holds its script and style and asks nobody for anything.
// kvcap fills the element #kvcap-data; without data the page says so.
import { build } from "esbuild";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

async function bundle(entry) {
  const { outputFiles } = await build({
    entryPoints: [here(entry)],
    bundle: true,
    minify: true,
    write: false,
    charset: "utf8",
    legalComments: "none",
    target: "es2022",
    format: "iife",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  return outputFiles[0].text;
}

const [template, script, style] = await Promise.all([
  readFile(here("src/page.html"), "utf8"),
  bundle("src/main.ts"),
  bundle("src/style.css"),
]);
// Inside <script> and <style> only their own end tags, and "<!--", mean anything to HTML.
const inside = (text) => text.replaceAll("</", "<\\/").replaceAll("<!--", "<\\!--");
const page = template
  .replace("/*style*/", () => inside(style).trim())
  .replace("/*script*/", () => inside(script).trim());

await mkdir(here("dist"), { recursive: true });
await writeFile(here("dist/page.html"), page);
console.log(`dist/page.html: ${(Buffer.byteLength(page) / 1e3).toFixed(0)} kB`);
