// The restoration of one context by every policy: a table with a bar for each time. The checked policies are
// compared in the break-even map.
import { h } from "../dom.ts";
import { show } from "../format.ts";
import { Palette, type Mode } from "../theme.ts";
import { binary } from "./memory.ts";
import type { PolicyAnswer, RestoreAnswer, Setting } from "./answers.ts";

// Formats a time: "12.3 ms", "4.56 s".
export function seconds(value: number): string {
  return value >= 1 ? `${show(value)} s` : `${show(value * 1e3)} ms`;
}

export interface RestorationsOptions {
  mode: Mode;
  palette: Palette;
  setting: Setting;
  summaries: Map<string, string>;
  choose: (policy: string, is_chosen: boolean) => void;
}

function row(one: PolicyAnswer, longest_s: number, options: RestorationsOptions): HTMLElement {
  const { mode, palette, setting, summaries, choose } = options;
  const box = h("input", {
    type: "checkbox",
    id: `policy-${one.policy}`,
    checked: setting.policies.includes(one.policy),
  });
  box.addEventListener("change", () => choose(one.policy, box.checked));
  const name = h(
    "th",
    { scope: "row", title: summaries.get(one.policy) },
    box,
    h("label", { for: box.id }, one.policy),
    one.is_bound ? h("span", { class: "quiet" }, " (bound)") : null,
    one.quality_note == null
      ? null
      : h("span", { class: "quiet", title: one.quality_note }, " (answers may differ)"),
  );
  if (one.refusal !== undefined) {
    return h(
      "tr",
      { class: "refused" },
      name,
      h("td", { colspan: 5 }, `cannot restore this context: ${one.refusal}`),
    );
  }
  const bar = h("span", { class: "length" });
  bar.style.background = palette.of(one.policy)[mode];
  bar.style.width = `${longest_s > 0 ? (100 * one.closed_form_restore_s) / longest_s : 0}%`;
  return h(
    "tr",
    {},
    name,
    h("td", { class: "number", id: `restore-${one.policy}` }, seconds(one.closed_form_restore_s)),
    h("td", { class: "bar-cell" }, bar),
    h("td", { class: "number" }, seconds(one.closed_form_restore_s + one.prefill_s)),
    h(
      "td",
      { class: "detail" },
      one.bound === "io" ? "loading" : one.bound === "compute" ? "GPU" : "balanced",
    ),
    h("td", { class: "number detail" }, binary(one.stored_bytes_per_token)),
  );
}

export function restorations_view(answer: RestoreAnswer, options: RestorationsOptions): HTMLElement {
  const time = (one: PolicyAnswer) => (one.refusal === undefined ? one.closed_form_restore_s : Infinity);
  const sorted = [...answer.policies].sort((a, b) => time(a) - time(b));
  const finite = sorted.map(time).filter(Number.isFinite);
  const longest_s = Math.max(0, ...finite);
  const best = sorted.find((one) => one.refusal === undefined && !one.is_bound && one.quality_note == null);
  const column = (name: string, kind: string | null = null) => h("th", { scope: "col", class: kind }, name);
  return h(
    "section",
    { "aria-labelledby": "restorations-title" },
    h("h2", { id: "restorations-title" }, "Restoration of one context on an idle machine"),
    h(
      "p",
      { class: "note" },
      best === undefined
        ? "No policy can restore this context."
        : `${best.policy} restores it fastest without changing answers: ${seconds(best.closed_form_restore_s)}. Closed forms; kvcap restore also simulates each layer. Checked policies are in the map below.`,
    ),
    h(
      "div",
      { class: "pan" },
      h(
        "table",
        { class: "restorations" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            column("Policy"),
            column("Restore", "number"),
            column("", "bar-cell"),
            column("TTFT", "number"),
            column("Bottleneck", "detail"),
            column("Stored per token", "number detail"),
          ),
        ),
        h(
          "tbody",
          {},
          sorted.map((one) => row(one, longest_s, options)),
        ),
      ),
    ),
  );
}
