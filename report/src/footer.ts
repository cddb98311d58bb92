// The footer: lists the third-party software in the page and its licences.
import { h } from "./dom.ts";

interface Notice {
  name: string;
  version: string;
  license: string;
  text: string;
}
declare const NOTICES: readonly Notice[]; // filled in by build.mjs

export function footer(version: string): HTMLElement {
  const names = NOTICES.map((one) => `${one.name} ${one.version} (${one.license})`);
  const details = h("details", {}, h("summary", {}, "Licences"));
  details.addEventListener("toggle", () => {
    if (!details.open || details.childElementCount > 1) return;
    for (const { name, text } of NOTICES)
      details.append(h("h2", {}, name), h("pre", { tabindex: 0, "aria-label": `Licence of ${name}` }, text));
  });
  return h(
    "footer",
    {},
    h(
      "p",
      { class: "note" },
      `Written by kvcap${version === "" ? "" : ` ${version}`} (Apache-2.0). This page contains ${names.join(", ")}.`,
    ),
    details,
  );
}
