// Chromium, headless, with an empty profile and nothing that talks to the network by itself.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

// Where `npm ci` was run: the build does so in a copy of report/.
const app = process.env.KVCAP_REPORT_APP ?? fileURLToPath(new URL("../../report", import.meta.url));
const require = createRequire(resolve(app, "package.json"));

const chromium_path = process.env.CHROMIUM ?? "/usr/bin/chromium";

// Why the tests cannot run here; null when they can.
export function what_is_missing() {
  if (!existsSync(chromium_path))
    return `no Chromium at ${chromium_path} (apt-get install chromium, or set CHROMIUM)`;
  try {
    require.resolve("playwright-core");
    require.resolve("axe-core");
  } catch {
    return "no node modules (npm ci in report/)";
  }
  return null;
}

export const axe_path = () => require.resolve("axe-core/axe.min.js");

// playwright-core gives every context a profile of its own.
export async function launch() {
  const { chromium } = require("playwright-core");
  return chromium.launch({
    executablePath: chromium_path,
    headless: true,
    chromiumSandbox: false,
    args: [
      "--disable-background-networking",
      "--disable-sync",
      "--disable-quic",
      "--no-first-run",
      "--disable-component-update",
    ],
  });
}

// A tab that remembers every error of its console and every request to others than files and `server`.
export async function open(browser, url, { server = "file://", ...options } = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    acceptDownloads: true,
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000); // a busy machine is slow
  const errors = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("request", (request) => {
    const is_own = /^(file|data|blob):/.test(request.url()) || request.url().startsWith(server);
    if (!is_own) errors.push(`asked the network for ${request.url()}`);
  });
  await page.goto(url);
  await page.waitForSelector("html[data-drawn]");
  return { page, errors, close: () => context.close() };
}

// Follows the page's own address; resolves when it is drawn.
export async function go(page, hash) {
  await page.evaluate((to) => {
    delete document.documentElement.dataset.drawn;
    if (location.hash === to) dispatchEvent(new HashChangeEvent("hashchange"));
    else location.hash = to;
  }, hash);
  await page.waitForSelector("html[data-drawn]");
}
