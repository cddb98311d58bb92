// Resources page: the utilization of resources over time, and the bottleneck at each time.
import { bars, bars_height } from "../charts/bars.ts";
import { colour } from "../charts/common.ts";
import { busiest, strips, strips_height, type Strip } from "../charts/strips.ts";
import type { Context } from "../context.ts";
import { half_width, type Run } from "../data.ts";
import { id_of, type Figure } from "../figure.ts";
import { list, show } from "../format.ts";
import { cell, metric_cell, words } from "../table.ts";
import { title_of } from "../quantities.ts";
import { span_of } from "../charts/spans.ts";
import { machine_figure, MachineLoad } from "../machine.ts";
import { h } from "../dom.ts";
import { over_time } from "./over_time.ts";

const suffix = "_utilization";
// Returns the name of a resource. GPUs without NVLink exchange data over PCIe, but results call this traffic
// `nvlink` as well.
function resource_name(key: string, runs: readonly Run[]): string {
  const uses_nvlink = (run: Run): boolean => {
    const hardware = run.place.at("scenario", "hardware");
    return !hardware.exists || (hardware.at("nvlink").exists && !hardware.at("peer").exists);
  };
  return key === "nvlink" && !runs.some(uses_nvlink) ? "PCIe between GPUs" : title_of(key + suffix);
}
function busiest_of(run: Run, none: string): string {
  const bound = run.place.at("metrics", "bound_by").text;
  return bound === null ? none : resource_name(bound, [run]);
}
const percent = { symbol: "%", scale: 100 };
const most_bins = 200;

function timeline(context: Context, run: Run): Figure | null {
  const series = run.place.at("series");
  const keys = series.entries.map(([key]) => key).filter((key) => key.endsWith(suffix));
  const times = series.at("time_s").numbers.slice(0, most_bins);
  if (keys.length === 0 || times.length === 0) return null;
  const rows: Strip[] = keys.map((key) => ({
    name: resource_name(key.slice(0, -suffix.length), [run]),
    values: series.at(key).numbers.slice(0, most_bins),
  }));
  return {
    id: id_of("busy", run.label),
    title: `Busy over time: ${run.label}`,
    says: `How busy ${list(rows.map((row) => row.name))} were over time under ${run.label}; over the whole run the busiest is ${busiest_of(run, "none")}.`,
    height: strips_height(rows.length),
    option: strips(context.theme, times, rows),
    table: () => ({
      columns: [
        { name: "Time", unit: "s" },
        ...rows.map((row) => ({ name: row.name, unit: "%" })),
        { name: "Busiest" },
      ],
      rows: times.map((_, bin) => [
        cell(series.at("time_s", bin)),
        ...keys.map((key) => cell(series.at(key, bin), percent)),
        words(rows[busiest(rows, bin)]?.name ?? "none"),
      ]),
    }),
  };
}

// Returns a figure of the mean utilization of a selected resource under every policy.
function averages(context: Context, runs: readonly Run[]): Figure | null {
  const value = (run: Run, key: string) => run.place.at("metrics", "utilization", key);
  const keys = [
    ...new Set(runs.flatMap((run) => run.place.at("metrics", "utilization").entries.map(([key]) => key))),
  ].filter((key) => runs.some((run) => (value(run, key).number ?? 0) > 0));
  if (keys.length === 0) return null;
  const key = context.chosen("resource", keys);
  const name_of = (one: string): string => resource_name(one, runs);
  return {
    id: "utilization",
    title: `${name_of(key)}: busy on average`,
    says: `${name_of(key)} was busy: ${list(runs.map((run) => `${run.label} ${show(100 * (value(run, key).number ?? 0))} %`))}.`,
    height: bars_height(runs.length, 1, false),
    controls: context.select("Resource", "resource", keys, key, name_of),
    option: bars(
      context.theme,
      runs.map((run) => run.label),
      [
        {
          name: name_of(key),
          values: runs.map((run) => 100 * (value(run, key).number ?? 0)),
          colours: runs.map((run) => colour(run.style, context.theme)),
        },
      ],
      {
        name: "busy",
        unit: "%",
        stack: false,
        max: 100,
        spans: runs.map((run) => {
          const half = half_width(run, `utilization.${key}`);
          return span_of(100 * (value(run, key).number ?? 0), half === null ? null : 100 * half);
        }),
      },
    ),
    table: () => ({
      columns: [
        { name: "Policy" },
        ...keys.map((one) => ({ name: name_of(one), unit: "%" })),
        { name: "Busiest" },
      ],
      rows: runs.map((run) => [
        words(run.label),
        ...keys.map((one) =>
          metric_cell(value(run, one), "utilization", half_width(run, `utilization.${one}`)),
        ),
        words(busiest_of(run, "\u2013")),
      ]),
    }),
  };
}

// The picture of the machine has peaks, which the means of the bins do not reach.
function kv_note(runs: readonly Run[]): string {
  const peaks = runs.flatMap((run) => {
    const [peak, room] = ["peak_kv_tokens", "kv_capacity_tokens"].map(
      (name) => run.place.at("metrics", name).number,
    );
    return peak && room ? [`${run.label} ${show((100 * peak) / room)} %`] : [];
  });
  return `Means of intervals of the run.${peaks.length > 0 ? ` The peaks, of the KV capacity: ${list(peaks)}.` : ""}`;
}

const most_machines = 6;

// Draws the machine of every setting, side by side.
function draw_machines(context: Context, runs: readonly Run[]): void {
  const pictures = runs
    .slice(0, most_machines)
    .flatMap((run) => machine_figure(context.theme, MachineLoad.of(run.place), run.label) ?? []);
  if (pictures.length > 0) context.main.append(h("div", { class: "figures machines" }, pictures));
}

export function resources(context: Context): void {
  const chosen = context.runs();
  if (!chosen) return;
  const { runs } = chosen;
  draw_machines(context, runs);
  const steps = [0, 0.01, 0.1, 0.25, 0.5, 1];
  const timelines = runs.map((run) => timeline(context, run));
  const first = timelines.find((figure) => figure !== null);
  if (first) {
    first.note = `The ${context.theme.mode === "dark" ? "lighter" : "darker"}, the busier. A red line underlines the resource that is busiest at each time.`;
    first.key = steps.map((share) => ({ name: `${100 * share} %`, colour: context.theme.heat(share) }));
  }
  context.figures(...timelines.map((figure) => (figure ? { ...figure, wide: true } : null)));
  context.figures(
    averages(context, runs),
    over_time(context, runs, "kv-tokens", "kv_tokens", "KV on the GPU", {
      quantity: "KV in use",
      note: kv_note(runs),
    }),
    over_time(context, runs, "running", "running", "Turns in service", {
      quantity: "turns",
      unit: { symbol: "", scale: 1 },
    }),
    over_time(context, runs, "waiting", "waiting", "Turns waiting for admission", {
      quantity: "turns",
      unit: { symbol: "", scale: 1 },
    }),
  );
}
