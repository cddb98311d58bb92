// Latency page: time to first token, its parts, and its growth with the history of a session.
import { bars, bars_height, parts_key } from "../charts/bars.ts";
import { colour } from "../charts/common.ts";
import { lines, type Line } from "../charts/lines.ts";
import type { Context } from "../context.ts";
import { half_width, plausible, type Run } from "../data.ts";
import type { Figure } from "../figure.ts";
import { brief, list, show } from "../format.ts";
import type { Place } from "../place.ts";
import { cell, metric_cell, words } from "../table.ts";
import { title_of, unit_of } from "../quantities.ts";
import { span_of } from "../charts/spans.ts";
import { is_saturated } from "../noise.ts";
import { draw_table } from "../table.ts";
import { h } from "../dom.ts";
import { intervals_note } from "./run_answer.ts";
import { objective_of } from "./targets.ts";
import { missing } from "./missing.ts";
import { over_time } from "./over_time.ts";

const ms = { symbol: "ms", scale: 1 };
const quantiles = (run: Run, name: string): Place => run.place.at("distributions", name);
// Returns the percentage of the quantile with this index: for 99 quantiles, 1 % to 99 %.
const percent = (index: number, count: number): number => (100 * (index + 1)) / (count + 1);

function cdf(context: Context, runs: readonly Run[], id: string, name: string, controls?: Node): Figure {
  const title = title_of(name);
  const target = objective_of(runs[0]!.place.at("scenario"), name);
  const all: Line[] = runs.map((run) => {
    const values = quantiles(run, name).numbers;
    const points = values.flatMap((value, at): [number, number][] =>
      value === null ? [] : [[value, percent(at, values.length)]],
    );
    return { name: run.label, style: run.style, points };
  });
  const middle = runs.map((run) => `${run.label} ${show(quantiles(run, name).at(49).number)} ms`);
  const rows = Math.max(...runs.map((run) => quantiles(run, name).items.length));
  return {
    id,
    title: `Distribution: ${title}`,
    note: `Share of turns with a ${title} of at most x.`,
    says: `Cumulative distribution of ${title}. Medians: ${list(middle)}.`,
    height: 320,
    option: lines(context.theme, all, {
      x: { name: title, unit: "ms", log: true },
      y: { name: "share of turns", unit: "%", min: 0, max: 100 },
      outside: ["less than 1 %", "more than 99 %"],
      limits: target ? [target] : [],
    }),
    controls,
    table: () => ({
      columns: [
        { name: "Share of turns", unit: "%" },
        ...runs.map((run) => ({ name: run.label, unit: "ms" })),
      ],
      rows: Array.from({ length: rows }, (_, at) => [
        words(brief(percent(at, rows))),
        ...runs.map((run) => cell(quantiles(run, name).at(at), ms)),
      ]),
    }),
  };
}

const part_title = (part: string): string => title_of(`ttft_breakdown_ms.${part}`);
const always = ["queue", "lookup", "load", "restore_compute", "prefill"];
// Parts of the TTFT that exist only if one node computes the prompt and another decodes.
const handed_over = ["decode_queue", "transfer", "first_step"];

function breakdown(context: Context, runs: readonly Run[]): Figure {
  const part = (run: Run, name: string) => run.place.at("metrics", "ttft_breakdown_ms", name);
  const mean = (run: Run) => run.place.at("metrics", "mean_ttft_ms");
  const is_there = (name: string) => runs.some((run) => part(run, name).exists);
  const parts = [...["api"].filter(is_there), ...always, ...handed_over.filter(is_there)];
  return {
    id: "breakdown",
    title: "What the first token waits for",
    note: `Exposed time: the parts of a row sum to its mean TTFT. ${intervals_note(runs, "mean_ttft_ms")}`,
    says: `Mean TTFT by part. In all: ${list(runs.map((run) => `${run.label} ${show(mean(run).number)} ms`))}.`,
    height: bars_height(runs.length, parts.length, true),
    key: parts_key(context.theme, parts.map(part_title)),
    option: bars(
      context.theme,
      runs.map((run) => run.label),
      parts.map((name) => ({ name: part_title(name), values: runs.map((run) => part(run, name).number) })),
      {
        name: "mean TTFT",
        unit: "ms",
        stack: true,
        spans: runs.map((run) => span_of(mean(run).number, half_width(run, "mean_ttft_ms"))),
        plausible: runs.map((run) => plausible(run, "mean_ttft_ms")),
      },
    ),
    table: () => ({
      columns: [
        { name: "Policy" },
        ...parts.map((name) => ({ name: part_title(name), unit: "ms" })),
        { name: "mean TTFT", unit: "ms" },
      ],
      rows: runs.map((run) => [
        words(run.label),
        ...parts.map((name) => cell(part(run, name), ms)),
        cell(mean(run), ms),
      ]),
    }),
  };
}

// Draws some metrics side by side, one bar per policy in its colour.
function side_by_side(
  context: Context,
  runs: readonly Run[],
  id: string,
  title: string,
  note: string,
  metrics: Record<string, string>, // metric by its short name
): Figure {
  const rows = Object.entries(metrics).flatMap(([short, metric]) =>
    runs.map((run) => ({ short, metric, run, place: run.place.at("metrics", metric) })),
  );
  return {
    id,
    title,
    note: `${note} ${intervals_note(runs, Object.values(metrics)[0]!)}`,
    says: `${title}: ${list(rows.map(({ metric, run, place }) => `${title_of(metric)} of ${run.label} ${show(place.number)} ms`))}.`,
    height: 56 + 24 * rows.length,
    option: bars(
      context.theme,
      rows.map(({ short, run }) => `${short}: ${run.label}`),
      [
        {
          name: title,
          values: rows.map(({ place }) => place.number),
          colours: rows.map(({ run }) => colour(run.style, context.theme)),
        },
      ],
      {
        name: "time",
        unit: "ms",
        stack: false,
        spans: rows.map(({ run, metric, place }) => span_of(place.number, half_width(run, metric))),
        plausible: rows.map(({ run, metric }) => plausible(run, metric)),
      },
    ),
    table: () => ({
      columns: [
        { name: "Policy" },
        ...Object.values(metrics).map((metric) => ({ name: title_of(metric), unit: "ms" })),
      ],
      rows: runs.map((run) => [
        words(run.label),
        ...Object.values(metrics).map((metric) =>
          metric_cell(run.place.at("metrics", metric), metric, half_width(run, metric)),
        ),
      ]),
    }),
  };
}

// Draws TTFT by bins of history length, leaving out empty bins.
function history(context: Context, runs: readonly Run[]): Figure | null {
  const bins = (run: Run) =>
    run.place.at("by_history").items.filter((bin) => (bin.at("count").number ?? 0) > 0);
  if (!runs.some((run) => bins(run).length > 0)) return null;
  const keys = ["mean_ttft_ms", "p99_ttft_ms"].filter((key) =>
    runs.some((run) => bins(run).some((bin) => bin.at(key).exists)),
  );
  const key = context.chosen("history", keys);
  const middle = (bin: Place) =>
    ((bin.at("min_tokens").number ?? 0) + (bin.at("max_tokens").number ?? bin.at("min_tokens").number ?? 0)) /
    2;
  return {
    id: "history",
    title: "TTFT against the length of the history",
    note: "Each point is a bin of history lengths, drawn at its middle. Turns without history are in the table.",
    says: `${title_of(key)} against history length, ${list(runs.map((run) => run.label))}.`,
    height: 300,
    controls: context.select("TTFT", "history", keys, key, title_of),
    option: lines(
      context.theme,
      runs.map((run) => ({
        name: run.label,
        style: run.style,
        points: bins(run).flatMap((bin): [number, number][] => {
          const value = bin.at(key).number;
          return value === null ? [] : [[middle(bin), value]];
        }),
      })),
      {
        x: { name: "history", unit: "tokens", log: true },
        y: { name: title_of(key), unit: "ms", min: 0 },
        symbols: true,
      },
    ),
    table: () => ({
      columns: [
        { name: "Policy" },
        { name: "History from", unit: "tokens" },
        { name: "to", unit: "tokens" },
        { name: "Turns" },
        ...keys.map((one) => ({ name: title_of(one), unit: unit_of(one).symbol })),
      ],
      rows: runs.flatMap((run) =>
        bins(run).map((bin) => [
          words(run.label),
          ...["min_tokens", "max_tokens", "count"].map((name) => cell(bin.at(name))),
          ...keys.map((name) => cell(bin.at(name), ms)),
        ]),
      ),
    }),
  };
}

const saturated_metrics = [
  "offered_load",
  "mean_ttft_ms",
  "p99_ttft_ms",
  "mean_e2el_ms",
  "output_throughput",
];

// Draws a table of the saturated settings, and returns the other settings for the charts: latencies of
// saturated settings grow as long as the run lasts and would flatten the charts. If all settings are
// saturated, returns all.
function served_runs(context: Context, all: readonly Run[]): readonly Run[] {
  const served = all.filter((run) => !is_saturated(run));
  const saturated = all.filter(is_saturated);
  if (served.length === 0 || saturated.length === 0) return all;
  context.add(
    h(
      "div",
      { class: "saturated" },
      h("h2", {}, "Saturated settings"),
      h(
        "p",
        { class: "note" },
        "Requests arrive faster than they are served, so latencies grow as long as the run lasts. The charts leave these settings out.",
      ),
      draw_table(
        {
          columns: [
            { name: "Policy" },
            ...saturated_metrics.map((metric) => ({ name: title_of(metric), unit: unit_of(metric).symbol })),
          ],
          rows: saturated.map((run) => [
            words(run.label),
            ...saturated_metrics.map((metric) =>
              metric_cell(run.place.at("metrics").metric(metric), metric, half_width(run, metric)),
            ),
          ]),
        },
        "Latencies at the end of the run",
      ),
    ),
  );
  return served;
}

export function latency(context: Context): void {
  const chosen = context.runs();
  if (!chosen) return;
  const runs = served_runs(context, chosen.runs);
  const names = [
    ...new Set(runs.flatMap((run) => run.place.at("distributions").entries.map(([name]) => name))),
  ];
  const name = context.chosen("distribution", names);
  const by_history = history(context, runs);
  const of = context.select("Of", "distribution", names, name, title_of);
  context.figures(
    names.length > 0 ? cdf(context, runs, "cdf", name, of) : null,
    by_history,
    names.includes("itl_ms") && name !== "itl_ms" ? cdf(context, runs, "itl", "itl_ms") : null,
    over_time(context, runs, "ttft-time", "mean_ttft_ms", "Mean TTFT over time"),
    breakdown(context, runs),
    side_by_side(
      context,
      runs,
      "cold-warm",
      "First turns and later turns",
      "Cold: nothing of the session is stored yet. Warm: there is a history to restore.",
      { cold: "mean_cold_ttft_ms", warm: "mean_warm_ttft_ms" },
    ),
    side_by_side(
      context,
      runs,
      "itl-tail",
      "Gaps between tokens",
      "Restorations and prefills that share a step with decoding lengthen its gaps.",
      { median: "median_itl_ms", p99: "p99_itl_ms" },
    ),
  );
  if (!by_history) missing(context, "TTFT against history length (by_history)");
}
