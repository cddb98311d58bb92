// Restoration page: how each policy restores one context on an idle machine, layer by layer.
import { gantt, gantt_height, type Work } from "../charts/gantt.ts";
import { bars, bars_height, parts_key } from "../charts/bars.ts";
import { most_marks } from "../charts/common.ts";
import type { Context } from "../context.ts";
import type { Named } from "../data.ts";
import { h } from "../dom.ts";
import { id_of, type Figure } from "../figure.ts";
import { brief, list, show } from "../format.ts";
import type { Place } from "../place.ts";
import { cell, metric_cell, words } from "../table.ts";
import { ms_of_s } from "../quantities.ts";

const policy_of = (place: Place): string => place.at("policy").text ?? "";

function schedule(context: Context, name: string, policies: readonly Place[]): Figure {
  const rows: string[] = [];
  const works: Work[] = [];
  let left_out = 0;
  for (const place of policies) {
    const style = context.report.palette.of(policy_of(place));
    const timeline = place.at("timeline").items;
    const streams = ["io", "compute"].filter((stream) =>
      timeline.some((one) => one.at("stream").text === stream),
    );
    for (const stream of streams) {
      const row = rows.push(`${policy_of(place)}  ${stream === "io" ? "transfers" : "computes"}`) - 1;
      for (const one of timeline) {
        if (one.at("stream").text !== stream) continue;
        if (works.length >= most_marks) {
          ++left_out;
          continue;
        }
        const layer = one.at("layer").number ?? -1;
        works.push({
          row,
          name: one.at("what").text ?? "",
          layer: layer < 0 ? "" : String(layer),
          start: 1000 * (one.at("start_s").number ?? 0),
          end: 1000 * (one.at("end_s").number ?? 0),
          style,
          weak: stream === "io",
        });
      }
    }
  }
  return {
    id: id_of("schedule", name),
    title: "Layer schedule",
    note:
      "Pale bars are transfers, solid bars computations; numbers are layers. Drag the slider, or pinch, to zoom." +
      (left_out > 0 ? ` ${left_out} bars of further policies are left out: switch policies off above.` : ""),
    says: `Schedule of transfers and computations. First token after: ${list(policies.map((place) => `${policy_of(place)} ${show(1000 * (place.at("ttft_s").number ?? 0))} ms`))}.`,
    height: gantt_height(rows.length),
    wide: true,
    option: gantt(context.theme, rows, works),
    table: () => ({
      columns: [
        { name: "Policy" },
        { name: "Stream" },
        { name: "What" },
        { name: "Layer" },
        { name: "Start", unit: "ms" },
        { name: "End", unit: "ms" },
      ],
      rows: policies.flatMap((place) =>
        place
          .at("timeline")
          .items.map((one) => [
            words(policy_of(place)),
            words(one.at("stream").text ?? ""),
            words(one.at("what").text ?? ""),
            (one.at("layer").number ?? -1) < 0 ? words("all") : cell(one.at("layer"), undefined, 0),
            cell(one.at("start_s"), ms_of_s),
            cell(one.at("end_s"), ms_of_s),
          ]),
      ),
    }),
  };
}

function times(context: Context, name: string, policies: readonly Place[]): Figure {
  const parts: [string, string][] = [
    ["restore_s", "restoring the history"],
    ["prefill_s", "prefill of the new tokens"],
  ];
  const names = parts.map(([, text]) => text);
  return {
    id: id_of("restore-times", name),
    title: "Time to first token of one context",
    note: "On an idle machine, without a queue or other turns. The closed form is in the table.",
    says: `Time to restore the context: ${list(policies.map((place) => `${policy_of(place)} ${show(1000 * (place.at("restore_s").number ?? 0))} ms`))}.`,
    height: bars_height(policies.length, 2, true),
    key: parts_key(context.theme, names),
    wide: true,
    option: bars(
      context.theme,
      policies.map(policy_of),
      parts.map(([key, text]) => ({
        name: text,
        values: policies.map((place) => 1000 * (place.at(key).number ?? 0)),
      })),
      { name: "time to first token", unit: "ms", stack: true },
    ),
    table: () => ({
      columns: [
        { name: "Policy" },
        { name: "Restore", unit: "ms" },
        { name: "Closed form", unit: "ms" },
        { name: "Prefill", unit: "ms" },
        { name: "TTFT", unit: "ms" },
        { name: "Layers: hidden" },
        { name: "KV" },
        { name: "recomputed" },
        { name: "Stored", unit: "KiB/token" },
        { name: "Read", unit: "GB" },
        { name: "Work", unit: "TFLOP" },
        { name: "Bottleneck" },
      ],
      rows: policies.map((place) => [
        words(policy_of(place)),
        ...["restore_s", "closed_form_restore_s", "prefill_s", "ttft_s"].map((key) =>
          cell(place.at(key), ms_of_s),
        ),
        ...["hidden_layers", "kv_layers", "recompute_layers"].map((key) =>
          cell(place.at("schedule", key), undefined, 0),
        ),
        ...["stored_bytes_per_token", "read_bytes", "restore_flops"].map((key) =>
          metric_cell(place.at(key), key),
        ),
        words(place.at("bound").text ?? ""),
      ]),
    }),
  };
}

// Policies that papers compare. If there are many policies, only these are shown until the reader selects
// others.
const first_shown = [
  "recompute",
  "ideal",
  "kv_offload",
  "cached_attention",
  "hcache",
  "cacheblend",
  "hyperinfer",
];

function draw_one(context: Context, { name, place }: Named): void {
  const all = place.at("policies").items;
  const names = all.map(policy_of);
  const usual = names.filter((one) => first_shown.includes(one));
  const on =
    context.text("policies") === null && names.length > 8 && usual.length > 0
      ? usual
      : context.switched_on(names);
  const shown = all.filter((one) => on.includes(policy_of(one)));
  const number = (key: string) => brief(place.at(key).number ?? 0, 12);
  context.add(
    h(
      "p",
      { class: "note" },
      `${name}: ${place.at("model").text ?? "a model"} on ${place.at("hardware").text ?? "a machine"}, ` +
        `${number("tokens")} tokens of history on ${place.at("tier").text ?? "a tier"}, ${number("new_tokens")} new ones.`,
    ),
    h("div", { class: "bar" }, context.legend(names, on)),
  );
  context.figures(schedule(context, name, shown), times(context, name, shown));
}

export function restoration(context: Context): void {
  const { restores } = context.report.after;
  const names = restores.map(({ name }) => name);
  const chosen = context.chosen("restore", names);
  if (names.length > 1)
    context.add(h("div", { class: "bar" }, context.select("Context", "restore", names, chosen)));
  const one = restores.find(({ name }) => name === chosen);
  if (one) draw_one(context, one);
}
