// Bundles src/ into dist/page.html, the page of kvcap report: one file that holds its script and style and asks
// nobody for anything. kvcap fills the element #kvcap-data; without data the page says so.
// Bundles src/serve/ into dist/serve.html, serve.js and serve.css, the page of kvcap serve.
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

const [template, script, style, serve_page, serve_script, serve_style] = await Promise.all([
  readFile(here("src/page.html"), "utf8"),
  bundle("src/main.ts"),
  bundle("src/style.css"),
  readFile(here("src/serve/page.html"), "utf8"),
  bundle("src/serve/main.ts"),
  bundle("src/serve/style.css"),
]);
// Inside <script> and <style> only their own end tags, and "<!--", mean anything to HTML.
const inside = (text) => text.replaceAll("</", "<\\/").replaceAll("<!--", "<\\!--");
const page = template
  .replace("/*style*/", () => inside(style).trim())
  .replace("/*script*/", () => inside(script).trim());

await mkdir(here("dist"), { recursive: true });
for (const [name, text] of [
  ["page.html", page],
  ["serve.html", serve_page],
  ["serve.js", serve_script],
  ["serve.css", serve_style],
]) {
  await writeFile(here(`dist/${name}`), text);
  console.log(`dist/${name}: ${(Buffer.byteLength(text) / 1e3).toFixed(0)} kB`);
}
