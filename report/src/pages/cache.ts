// Cache page: hits per tier and over time, bytes stored and moved, and the upper bound for any cache.
import { bars, bars_height } from "../charts/bars.ts";
import { colour, most_marks, thin } from "../charts/common.ts";
import { lines } from "../charts/lines.ts";
import type { Context } from "../context.ts";
import { half_width, type Named, type Run } from "../data.ts";
import { id_of, type Figure } from "../figure.ts";
import { list, show } from "../format.ts";
import type { Place } from "../place.ts";
import { cell, metric_cell, words } from "../table.ts";
import { tier_title, tiers, title_of, unit_of } from "../quantities.ts";
import { reuse_figures } from "./reuse.ts";
import { span_of } from "../charts/spans.ts";
import { missing } from "./missing.ts";
import { over_time } from "./over_time.ts";

// Returns a figure of one metric by tier, stacked, with one row per policy; null if it is zero everywhere.
function by_tier(
  context: Context,
  all: readonly Run[],
  metric: string,
  title: string,
  note: string,
): Figure | null {
  const unit = unit_of(metric);
  const value = (run: Run, tier: string) => run.place.at("metrics", metric, tier);
  const used = tiers().filter((tier) => all.some((run) => (value(run, tier).number ?? 0) > 0));
  const runs = all.filter((run) => used.some((tier) => (value(run, tier).number ?? 0) > 0));
  if (used.length === 0) return null;
  const names = used.map(tier_title);
  // A tier has one colour in all charts.
  const hues = context.theme.parts(tiers().length);
  const hue = (tier: string): string => hues[tiers().indexOf(tier)]!;
  const said = runs.map(
    (run) =>
      `${run.label} ${used.map((tier, at) => `${show((value(run, tier).number ?? 0) * unit.scale)} from ${names[at]}`).join(", ")}`,
  );
  return {
    id: metric.replaceAll("_", "-"),
    title,
    note,
    says: `${title} in ${unit.symbol}: ${list(said)}.`,
    height: bars_height(runs.length, used.length, true),
    key: used.map((tier, at) => ({ name: names[at]!, colour: hue(tier) })),
    option: bars(
      context.theme,
      runs.map((run) => run.label),
      used.map((tier, at) => ({
        name: names[at]!,
        colour: hue(tier),
        values: runs.map((run) => (value(run, tier).number ?? 0) * unit.scale),
      })),
      { name: title.toLowerCase(), unit: unit.symbol, stack: true },
    ),
    table: () => ({
      columns: [{ name: "Policy" }, ...names.map((name) => ({ name, unit: unit.symbol }))],
      rows: runs.map((run) => [
        words(run.label),
        ...used.map((tier) => metric_cell(value(run, tier), metric)),
      ]),
    }),
  };
}

function hit_rates(context: Context, runs: readonly Run[]): Figure {
  const metrics = ["token_hit_rate", "request_hit_rate"];
  const rate = (run: Run): Place => run.place.at("metrics", "token_hit_rate");
  const bounds = runs.filter((run) => run.bound).map(({ label }) => label);
  return {
    id: "hit-rate",
    title: "Token hit rate",
    note:
      "Reused tokens of all prompt tokens." +
      (bounds.length > 0 ? ` Bounds, which cannot be bought: ${list(bounds)}.` : ""),
    says: `Token hit rate: ${list(runs.map((run) => `${run.label} ${show(100 * (rate(run).number ?? 0))} %`))}.`,
    height: bars_height(runs.length, 1, false),
    option: bars(
      context.theme,
      runs.map((run) => run.label),
      [
        {
          name: "token hit rate",
          values: runs.map((run) => 100 * (rate(run).number ?? 0)),
          colours: runs.map((run) => colour(run.style, context.theme)),
        },
      ],
      {
        name: "token hit rate",
        unit: "%",
        stack: false,
        max: 100,
        spans: runs.map((run) => {
          const half = half_width(run, "token_hit_rate");
          return span_of(100 * (rate(run).number ?? 0), half === null ? null : 100 * half);
        }),
      },
    ),
    table: () => ({
      columns: [{ name: "Policy" }, ...metrics.map((metric) => ({ name: title_of(metric), unit: "%" }))],
      rows: runs.map((run) => [
        words(run.label),
        ...metrics.map((metric) =>
          metric_cell(run.place.at("metrics", metric), metric, half_width(run, metric)),
        ),
      ]),
    }),
  };
}

function occupancy(context: Context, runs: readonly Run[]): (Figure | null)[] {
  const unit = { symbol: "GB", scale: 1e-9 };
  return tiers().map((tier) =>
    over_time(context, runs, `stored-${tier}`, `stored_bytes_${tier}`, `Stored in ${tier_title(tier)}`, {
      unit,
      quantity: "stored",
    }),
  );
}

// Draws the miss ratio over the size of the cache, together with the miss ratios of runs that are bounds (an
// infinite store, Belady's eviction). Returns null if the trace's statistics lack the curve.
function miss_ratio_figure(context: Context, { name, place }: Named, runs: readonly Run[]): Figure | null {
  const points = place.at("miss_ratio_curve").items;
  if (points.length === 0) return null;
  const levels = runs
    .filter((run) => run.bound && run.policy !== "recompute")
    .flatMap((run) => {
      const rate = run.place.at("metrics", "token_hit_rate").number;
      return rate === null ? [] : [{ name: run.label, value: 100 * (1 - rate) }];
    });
  const style = { light: "#41669c", dark: "#94b2de", dash: "solid" as const, symbol: "circle" };
  return {
    id: id_of("miss-ratio", name),
    title: `Miss ratio against the size of the cache: ${name}`,
    note: "For an LRU store: a reuse is a hit if the store is at least as large as the reuse distance.",
    says: `Miss ratio curve of ${name}, ${points.length} sizes.`,
    height: 280,
    option: lines(
      context.theme,
      [
        {
          name: "LRU",
          style,
          points: thin(points, most_marks).flatMap((point): [number, number][] => {
            const size = point.at("capacity_tokens").number;
            const ratio = point.at("token_miss_ratio").number;
            return size === null || ratio === null ? [] : [[size, 100 * ratio]];
          }),
        },
      ],
      {
        x: { name: "size of the store", unit: "tokens", log: true },
        y: { name: "token miss ratio", unit: "%", min: 0, max: 100 },
        step: true,
        levels,
      },
    ),
    table: () => ({
      columns: [
        { name: "Size of the store", unit: "tokens" },
        { name: "Token miss ratio", unit: "%" },
      ],
      rows: points.map((point) => [
        cell(point.at("capacity_tokens")),
        metric_cell(point.at("token_miss_ratio"), "token_miss_ratio"),
      ]),
    }),
  };
}

export function cache(context: Context): void {
  const chosen = context.runs();
  const runs = chosen?.runs ?? [];
  const { traces } = context.report.after;
  const over = over_time(context, runs, "hit-rate-time", "token_hit_rate", "Token hit rate over time", {
    max: 100,
  });
  const curves = traces.map((trace) => miss_ratio_figure(context, trace, runs));
  context.figures(
    runs.length > 0 ? hit_rates(context, runs) : null,
    by_tier(
      context,
      runs,
      "hit_tokens",
      "Hits by tier",
      "Tokens found in each tier when their turn was admitted.",
    ),
    over,
    ...occupancy(context, runs),
    by_tier(context, runs, "read_bytes", "Bytes read", "From each tier, over the whole run."),
    by_tier(context, runs, "written_bytes", "Bytes written", "To each tier, over the whole run."),
    by_tier(context, runs, "peak_stored_bytes", "Most bytes stored at once", "Peak occupancy of each tier."),
    ...traces.flatMap((trace) => reuse_figures(context, trace)),
    ...curves,
  );
  if (runs.length > 0 && !over) missing(context, "hit rate over time (series.token_hit_rate)");
  if (curves.every((curve) => curve === null))
    missing(context, "the miss-ratio curve (miss_ratio_curve of kvcap trace stats --json)");
}
