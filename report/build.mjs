// Bundles src/ into dist/page.html, the page of kvcap report: one file that holds its script and style and asks
// nobody for anything. kvcap fills the element #kvcap-data; without data the page says so.
// Bundles src/serve/ into dist/serve.html, serve.js and serve.css, the page of kvcap serve.
// Bundles src/whatif/ into dist/whatif.html, the page of kvcap whatif, where KVCAP_WASM names its module.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

async function bundle(entry, define = {}) {
  const { outputFiles } = await build({
    entryPoints: [here(entry)],
    bundle: true,
    minify: true,
    write: false,
    charset: "utf8",
    legalComments: "none",
    target: "es2022",
    format: "iife",
    define: { "process.env.NODE_ENV": '"production"', ...define },
  });
  return outputFiles[0].text;
}

// What the bundle contains, and the files with its licences, which kvcap report's readers get with it.
const contained = {
  echarts: ["NOTICE", "LICENSE", "licenses/LICENSE-d3"],
  zrender: ["LICENSE"],
  tslib: ["CopyrightNotice.txt", "LICENSE.txt"],
};

async function notices() {
  const all = Object.entries(contained).map(async ([name, files]) => {
    const read = (file) => readFile(here(`node_modules/${name}/${file}`), "utf8");
    const { version, license } = JSON.parse(await read("package.json"));
    const texts = await Promise.all(files.map(read));
    return { name, version, license, text: texts.map((text) => text.trim()).join("\n\n") };
  });
  return JSON.stringify(await Promise.all(all));
}

const [template, script, style, serve_page, serve_script, serve_style] = await Promise.all([
  readFile(here("src/page.html"), "utf8"),
  notices().then((found) => bundle("src/main.ts", { NOTICES: found })),
  bundle("src/style.css"),
  readFile(here("src/serve/page.html"), "utf8"),
  bundle("src/serve/main.ts"),
  bundle("src/serve/style.css"),
]);
// Inside <script> and <style> only their own end tags, and "<!--", mean anything to HTML.
const inside = (text) => text.replaceAll("</", "<\\/").replaceAll("<!--", "<\\!--");

// Returns one file with its script and style. Its policy names both by their hashes, so that a browser runs nothing
// else: all that is between their tags, spaces too.
function one_file(frame, script, style) {
  const filled = frame
    .replace("/*style*/", () => inside(style).trim())
    .replace("/*script*/", () => inside(script).trim());
  const hash_of = (tag) => {
    const found = [...filled.matchAll(new RegExp(`<${tag}>([^]*?)</${tag}>`, "g"))];
    if (found.length !== 1) throw new Error(`${found.length} inline elements <${tag}>, expected one`);
    return `sha256-${createHash("sha256").update(found[0][1], "utf8").digest("base64")}`;
  };
  return filled
    .replace("/*script-hash*/", hash_of("script"))
    .replace("/*style-hash*/", hash_of("style"));
}
const page = one_file(template, script, style);

async function whatif_page(wasm) {
  const [frame, script, style, module] = await Promise.all([
    readFile(here("src/whatif/page.html"), "utf8"),
    bundle("src/whatif/main.ts"),
    bundle("src/whatif/style.css"),
    readFile(wasm),
  ]);
  return one_file(frame, script, style).replace(
    'id="module"></script>',
    () => `id="module">${gzipSync(module, { level: 9 }).toString("base64")}</script>`,
  );
}
const wasm = process.env.KVCAP_WASM ?? "";

await mkdir(here("dist"), { recursive: true });
for (const [name, text] of [
  ["page.html", page],
  ["serve.html", serve_page],
  ["serve.js", serve_script],
  ["serve.css", serve_style],
  ...(wasm === "" ? [] : [["whatif.html", await whatif_page(wasm)]]),
]) {
  await writeFile(here(`dist/${name}`), text);
  console.log(`dist/${name}: ${(Buffer.byteLength(text) / 1e3).toFixed(0)} kB`);
}
