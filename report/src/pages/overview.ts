// Overview page: the answers first, then the scenario, a table of policies, differences, costs and assumptions.
import { bars, bars_height } from "../charts/bars.ts";
import { colour } from "../charts/common.ts";
import { whiskers, type Whisker } from "../charts/whiskers.ts";
import type { Context } from "../context.ts";
import { half_width, type Group, type Run } from "../data.ts";
import { h } from "../dom.ts";
import type { Figure } from "../figure.ts";
import { list, show } from "../format.ts";
import { cell, draw_table, metric_cell, words, type Cell, type Table } from "../table.ts";
import { better, headlines, is_real_only, overview_rows, title_of, unit_of } from "../quantities.ts";
import { span_of } from "../charts/spans.ts";
import { MachineLoad } from "../machine.ts";
import { best_of, is_saturated } from "../noise.ts";
import type { Place } from "../place.ts";
import { answer_card } from "./answer.ts";
import { capacity_cards } from "./capacity.ts";
import { plan_cards } from "./plan.ts";
import { answer_facts, tail_figure } from "./run_answer.ts";
import { scenario_words } from "./scenario.ts";
import { more_sentences } from "./sentences.ts";
import { sweep_cards } from "./sweep_answer.ts";

// Returns the cell of a metric; a resource is shown by its title.
function value_cell(place: Place, metric: string, half: number | null): Cell {
  const resource = metric === "bound_by" ? place.text : null;
  return resource ? words(title_of(`${resource}_utilization`)) : metric_cell(place, metric, half);
}

// Returns a table with one column per policy. Values that are significantly better than all others are bold;
// bounds are not considered.
function headline(runs: readonly Run[], differences: readonly Place[]): Table {
  // As on the terminal, a row of zeros is shown only for headline metrics.
  const metrics = overview_rows().filter((metric) =>
    runs
      .map((run) => run.place.at("metrics").metric(metric))
      .some((place) => place.exists && (place.number !== 0 || headlines().includes(metric))),
  );
  return {
    columns: [{ name: "" }, { name: "Unit" }, ...runs.map((run) => ({ name: run.label }))],
    rows: metrics.map((metric) => {
      const places = runs.map((run) => run.place.at("metrics").metric(metric));
      const cells = places.map((place, at) =>
        is_real_only(metric) && runs[at]!.bound
          ? words("-")
          : value_cell(place, metric, half_width(runs[at]!, metric)),
      );
      mark_best(cells, runs, metric, differences);
      return [words(title_of(metric)), words(unit_of(metric).symbol), ...cells];
    }),
  };
}

// Marks the values that are significantly better than all others. Leaves out bounds, which cannot be built,
// and saturated runs, whose latencies grow as long as the run lasts.
function mark_best(cells: Cell[], runs: readonly Run[], metric: string, differences: readonly Place[]): void {
  const sign = better(metric);
  const rivals = runs.filter((run, at) => cells[at]!.value !== null && !run.bound && !is_saturated(run));
  if (sign === 0 || rivals.length < 2) return;
  const best = best_of(differences, metric, sign, rivals);
  runs.forEach((run, at) => {
    if (best.includes(run)) cells[at]!.mark = "best";
  });
}

function differences_figure(context: Context, group: Group, runs: readonly Run[]): Figure | null {
  const shown = new Set(runs.map((run) => run.label));
  const here = group.differences.filter((one) => shown.has(one.at("setting").text ?? ""));
  const metrics = [...new Set(here.map((one) => one.at("metric").text ?? ""))];
  if (metrics.length === 0) return null;
  const metric = context.chosen(
    "metric",
    metrics,
    metrics.includes("p99_ttft_ms") ? "p99_ttft_ms" : metrics[0],
  );
  const unit = unit_of(metric);
  const chosen = here.filter((one) => one.at("metric").text === metric);
  const against = list([...new Set(chosen.map((one) => one.at("against").text ?? ""))]);
  const scaled = (value: number | null) => (value === null ? null : value * unit.scale);
  const rows: Whisker[] = chosen.flatMap((one) => {
    const value = scaled(one.at("difference").number);
    if (value === null) return [];
    const name = one.at("setting").text ?? "";
    const style = colour(context.report.palette.of(name), context.theme);
    return [
      {
        name,
        value,
        low: scaled(one.at("interval", 0).number),
        high: scaled(one.at("interval", 1).number),
        colour: style,
      },
    ];
  });
  const name = `${title_of(metric)}, difference`;
  const said = rows.map((row) => `${row.name} ${show(row.value)} ${unit.symbol}`);
  return {
    id: "differences",
    title: `${title_of(metric)} against ${against}`,
    note: "Paired differences: every policy served the same sessions. Whiskers are 95 % intervals; if one crosses the line, the difference may be chance.",
    says: `Difference of ${title_of(metric)} against ${against}: ${list(said)}.`,
    height: 70 + 34 * rows.length,
    option: whiskers(context.theme, rows, { name, unit: unit.symbol, zero: against }),
    controls: context.select("Metric", "metric", metrics, metric, title_of),
    table: () => ({
      columns: [
        { name: "Setting" },
        { name: "Against" },
        { name, unit: unit.symbol },
        { name: "Interval from", unit: unit.symbol },
        { name: "Interval to", unit: unit.symbol },
      ],
      rows: chosen.map((one) => [
        words(one.at("setting").text ?? ""),
        words(one.at("against").text ?? ""),
        ...[one.at("difference"), one.at("interval", 0), one.at("interval", 1)].map((place) =>
          cell(place, unit),
        ),
      ]),
    }),
  };
}

function cost_figure(context: Context, runs: readonly Run[]): Figure | null {
  const bought = runs.filter((run) => !run.bound);
  const value = (run: Run, part: string) => run.place.at("metrics", "cost").metric(part);
  const dollars = (run: Run, part: string) => value(run, part).number ?? 0;
  // So that the parts sum to the total, only the larger of an SSD's cost over time and its wear counts, and
  // energy counts only if the rent does not include it.
  const share = (run: Run, part: string): number => {
    const worn = dollars(run, "ssd_wear_usd") > dollars(run, "ssd_usd");
    if (part === (worn ? "ssd_usd" : "ssd_wear_usd")) return 0;
    if (part !== "energy_usd") return dollars(run, part);
    const machine = dollars(run, "gpu_usd") + dollars(run, "storage_usd");
    return dollars(run, "total_usd") > machine * (1 + 1e-9) ? dollars(run, "energy_usd") : 0;
  };
  const title = (part: string) => title_of(`cost.${part}`).replace("cost of ", "");
  const parts = ["gpu_usd", "dram_usd", "ssd_usd", "ssd_wear_usd", "remote_usd", "energy_usd"].filter(
    (part) => bought.some((run) => share(run, part) > 0),
  );
  if (parts.length === 0) return null;
  // Without the first hue, a grey that reads as "off".
  const hues = context.theme.parts(parts.length + 1).slice(1);
  return {
    id: "cost",
    title: "Cost of the run",
    note: "GPUs and provisioned tiers over the duration of the run. Bounds have no price.",
    says: `Cost of the run in dollars: ${list(bought.map((run) => `${run.label} ${show(value(run, "total_usd").number)}`))}.`,
    height: bars_height(bought.length, parts.length, true),
    key: parts.map((part, at) => ({ name: title(part), colour: hues[at]! })),
    option: bars(
      context.theme,
      bought.map((run) => run.label),
      parts.map((part, at) => ({
        name: title(part),
        values: bought.map((run) => share(run, part)),
        colour: hues[at],
      })),
      {
        name: "cost",
        unit: "$",
        stack: true,
        spans: bought.map((run) =>
          span_of(value(run, "total_usd").number, half_width(run, "cost.total_usd")),
        ),
      },
    ),
    table: () => ({
      columns: [
        { name: "Policy" },
        ...[...parts, "total_usd"].map((part) => ({ name: title(part), unit: "$" })),
      ],
      rows: bought.map((run) => [
        words(run.label),
        ...[...parts, "total_usd"].map((part) => metric_cell(value(run, part), `cost.${part}`)),
      ]),
    }),
  };
}

// Returns the setting whose machine is drawn by default: the setting with the lowest p99 TTFT among those
// that serve the load.
function shown_setting(runs: readonly Run[]): Run {
  const real = runs.filter((run) => !run.bound);
  const served = real.filter((run) => !is_saturated(run));
  const tail = (run: Run) => run.place.at("metrics", "p99_ttft_ms").number ?? Infinity;
  const [first = runs[0]!, ...rest] = served.length > 0 ? served : real;
  return rest.reduce((best, run) => (tail(run) < tail(best) ? run : best), first);
}

function draw_runs(context: Context, group: Group, runs: readonly Run[]): void {
  const chosen = runs.find(({ label }) => label === context.text("machine")) ?? shown_setting(runs);
  const labels = runs.map((run) => run.label);
  answer_card(context, {
    title: "",
    facts: answer_facts(runs),
    figure: tail_figure(context, runs),
    load: MachineLoad.of(chosen.place),
    of: chosen.label,
    controls: labels.length > 1 ? context.select("Setting", "machine", labels, chosen.label) : undefined,
  });
  more_sentences(context);
  context.add(scenario_words(runs[0]!.place));
  context.add(
    draw_table(headline(runs, group.differences), "Policies compared", { class: "headline" }),
    h(
      "p",
      { class: "note" },
      runs.length > 1
        ? "Bold: significantly better than every other policy that can be built; \u00b1 is a 95 % interval."
        : "\u00b1 is a 95 % interval.",
    ),
  );
  const summaries = runs.filter((run) => run.place.at("policy_summary").text);
  if (summaries.length > 0) {
    const said = summaries.map((run) =>
      h("li", {}, `${run.label}: ${run.place.at("policy_summary").text ?? ""}`),
    );
    context.add(h("ul", { class: "notes" }, said));
  }
  context.figures(differences_figure(context, group, runs), cost_figure(context, runs));
  assumed(context, group.input);
}

function assumed(context: Context, input: string): void {
  const { lines, more } = context.report.assumed(input);
  if (lines.length === 0) return;
  context.add(
    h("h2", {}, "What was assumed"),
    h(
      "ul",
      { class: "notes" },
      lines.map((line) => h("li", {}, line)),
    ),
    more > 0
      ? h("p", { class: "note" }, `${more} more ${more === 1 ? "note is" : "notes are"} in the results file.`)
      : null,
  );
}

export function overview(context: Context): void {
  const { after } = context.report;
  const chosen = context.runs();
  if (chosen) draw_runs(context, chosen.group, chosen.runs);
  const answers = after.plans.length + after.capacities.length + after.sweeps.length;
  const titled = answers > 1 || chosen !== null;
  plan_cards(context, titled);
  capacity_cards(context, titled);
  sweep_cards(context, after.sweeps, titled);
  if (!chosen) more_sentences(context);
  if (!chosen) for (const { name } of [...after.plans, ...after.capacities]) assumed(context, name);
  inputs(context);
}

function inputs(context: Context): void {
  const { unknown, after } = context.report;
  const kinds: [string, { name: string }[]][] = [
    ["runs", after.groups],
    ["restorations", after.restores],
    ["sweeps", after.sweeps],
    ["plans", after.plans],
    ["capacities", after.capacities],
    ["break-even maps", after.break_evens],
    ["validations", after.validations],
    ["trace statistics", after.traces],
  ];
  const lines = kinds
    .filter(([, those]) => those.length > 0)
    .map(([kind, those]) => `${kind}: ${those.map(({ name }) => name).join(", ")}`);
  lines.push(...unknown.map(({ name, schema }) => `not shown: ${name} (schema ${schema})`));
  context.add(
    h("h2", {}, "What this report was made from"),
    h(
      "ul",
      { class: "notes" },
      lines.map((line) => h("li", {}, line)),
    ),
  );
}
