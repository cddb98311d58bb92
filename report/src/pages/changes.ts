// Changes page: inputs before and after, side by side, with differences marked.
import { whiskers, type Whisker } from "../charts/whiskers.ts";
import type { Context } from "../context.ts";
import { half_width, type Group, type Named, type Run, type Side } from "../data.ts";
import { h } from "../dom.ts";
import type { Figure } from "../figure.ts";
import { list, show } from "../format.ts";
import { leaves, type Place } from "../place.ts";
import {
  cell,
  derived,
  draw_table,
  metric_cell,
  words,
  type Cell,
  type Column,
  type Table,
} from "../table.ts";
import { better, headlines, ms_of_s, title_of, unit_of } from "../quantities.ts";

interface Pair<T> {
  name: string;
  before: T;
  after: T;
}

// Pairs items with the same name. If each side has only one item, pairs these two whatever their names.
function pair<T>(before: readonly T[], after: readonly T[], name: (one: T) => string): Pair<T>[] {
  if (before.length === 1 && after.length === 1)
    return [{ name: name(after[0]!), before: before[0]!, after: after[0]! }];
  return after.flatMap((one) => {
    const other = before.find((candidate) => name(candidate) === name(one));
    return other ? [{ name: name(one), before: other, after: one }] : [];
  });
}

const pairs_of_runs = (before: Group, after: Group): Pair<Run>[] =>
  pair(before.runs, after.runs, (run) => run.label);

// Pairs each group of `before` with one of `after`: first groups with the same name, then the most similar
// groups by scenario and settings.
function pair_groups(before: readonly Group[], after: readonly Group[]): Pair<Group>[] {
  const scenario = (group: Group) => group.runs[0]?.place.at("scenario", "name").text;
  const found = new Map<Group, Group>();
  const free = new Set(after);
  const take = (likeness: (old: Group, one: Group) => number): void => {
    for (const old of before.filter((group) => !found.has(group))) {
      const [best] = [...free].sort((a, b) => likeness(old, b) - likeness(old, a));
      if (!best || likeness(old, best) === 0) continue;
      found.set(old, best);
      free.delete(best);
    }
  };
  take((old, one) => (old.name === one.name ? 1 : 0));
  take((old, one) => (scenario(old) === scenario(one) ? pairs_of_runs(old, one).length : 0));
  return before.flatMap((old) => {
    const best = found.get(old);
    return best ? [{ name: best.name, before: old, after: best }] : [];
  });
}

const change_columns = (unit = ""): Column[] => [
  { name: "Before", unit },
  { name: "After", unit },
  { name: "Difference", unit },
  { name: "Change", unit: "%" },
  { name: "Reading" },
];

// Interprets a difference. `sign`: 1 if more is better, -1 if less is. `noise`: the half width of its
// interval.
function reading(difference: number, sign: number, noise: number): { text: string; mark?: "good" | "bad" } {
  if (difference === 0) return { text: "same" };
  if (Math.abs(difference) <= noise) return { text: "not significant" };
  const arrow = difference > 0 ? "\u25b2" : "\u25bc";
  if (sign === 0) return { text: `${arrow} ${difference > 0 ? "more" : "less"}` };
  return sign * difference > 0
    ? { text: `${arrow} better`, mark: "good" }
    : { text: `${arrow} worse`, mark: "bad" };
}

// Returns the cells before, after, after - before, and the interpretation.
function change_cells(before: Cell, after: Cell, sign: number, noise: number): Cell[] {
  if (before.value === null || after.value === null) {
    const same = before.text === after.text;
    return [before, after, words("\u2013"), words("\u2013"), words(same ? "same" : "changed")];
  }
  const difference = after.value - before.value;
  const change = before.value === 0 ? null : (100 * difference) / Math.abs(before.value);
  const { text, mark } = reading(difference, sign, noise);
  return [
    before,
    after,
    { ...derived(difference, after.scale), mark },
    derived(change),
    { ...words(text), mark },
  ];
}

interface RunPair extends Pair<Run> {
  tells: (metric: string) => boolean | undefined;
  width: (metric: string) => number | null;
}

// Returns the half width of a difference's interval. If only the verdict is known, returns 0 for a
// significant change, otherwise infinity.
function noise_of({ before, after, tells }: RunPair, metric: string): number {
  const told = tells(metric);
  if (told !== undefined) return told ? 0 : Infinity;
  return Math.hypot(half_width(before, metric) ?? 0, half_width(after, metric) ?? 0);
}

// Returns the half width of a relative change's interval in percent; null without an interval.
function relative_width({ before, after, width }: RunPair, metric: string, from: number): number | null {
  const known = width(metric);
  if (known !== null) return (100 * known) / unit_of(metric).scale / Math.abs(from);
  const [then, now] = [half_width(before, metric), half_width(after, metric)];
  return then === null || now === null ? null : (100 * Math.hypot(then, now)) / Math.abs(from);
}

function metrics_of(pairs: readonly Pair<Run>[]): string[] {
  const names = pairs.flatMap(({ before, after }) =>
    [before, after].flatMap((run) => leaves(run.place.at("metrics")).map(([name]) => name)),
  );
  return [...new Set(names)];
}

function run_table(run: RunPair, metrics: readonly string[]): Table {
  const side = (one: Run, metric: string) =>
    metric_cell(one.place.at("metrics").metric(metric), metric, half_width(one, metric));
  return {
    columns: [{ name: "Metric" }, { name: "Unit" }, ...change_columns()],
    rows: metrics.map((metric) => [
      words(title_of(metric)),
      words(unit_of(metric).symbol),
      ...change_cells(
        side(run.before, metric),
        side(run.after, metric),
        better(metric),
        noise_of(run, metric),
      ),
    ]),
  };
}

// Returns a figure of the relative changes of some metrics.
function run_figure(context: Context, run: RunPair, metrics: readonly string[]): Figure | null {
  const { theme } = context;
  const rows = metrics.flatMap((metric): Whisker[] => {
    const a = run.before.place.at("metrics").metric(metric).number;
    const b = run.after.place.at("metrics").metric(metric).number;
    if (a === null || b === null || a === 0) return [];
    const { mark } = reading(b - a, better(metric), noise_of(run, metric));
    const paint = mark ? theme[mark] : theme.quiet;
    const value = (100 * (b - a)) / Math.abs(a);
    const half = relative_width(run, metric, a);
    return [
      {
        name: title_of(metric),
        value,
        low: half === null ? null : value - half,
        high: half === null ? null : value + half,
        colour: paint,
      },
    ];
  });
  if (rows.length === 0) return null;
  return {
    id: "change",
    title: `${run.name}: change of its metrics`,
    note: "Green is better, red is worse; grey is neither, or not significant. Whiskers are 95 % intervals.",
    says: `Changes in percent: ${list(rows.map((row) => `${row.name} ${show(row.value)}`))}.`,
    height: Math.max(112, 66 + 24 * rows.length),
    wide: true,
    option: whiskers(theme, rows, { name: "change", unit: "%", zero: "before" }),
    table: () => run_table(run, metrics),
  };
}

function draw_runs(context: Context, before: Side, after: Side): void {
  const groups = pair_groups(before.groups, after.groups);
  const all = groups.flatMap((group) =>
    pairs_of_runs(group.before, group.after).map((run) => ({
      ...run,
      tells: (metric: string) => context.report.tells(group.after.input, run.after.label, metric),
      width: (metric: string) => context.report.change_width(group.after.input, run.after.label, metric),
      name: groups.length > 1 ? `${group.name}: ${run.name}` : run.name,
    })),
  );
  const names = all.map(({ name }) => name);
  const first = all.find((run) => differing(run, metrics_of([run])).length > 0) ?? all[0];
  const run = all.find(({ name }) => name === context.chosen("run", names, first?.name));
  if (!run) return;
  const metrics = metrics_of([run]);
  const differ = differing(run, metrics);
  const every = context.chosen("show", ["differences", "all"]) === "all";
  const shown = every ? metrics : differ;
  const first_looked_at = differ.filter((metric) => headlines().includes(metric));
  context.add(
    h(
      "div",
      { class: "bar" },
      context.select("Run", "run", names, run.name),
      context.select("Show", "show", ["differences", "all"], every ? "all" : "differences", (value) =>
        value === "all" ? "every metric" : "what differs",
      ),
    ),
    h("p", {}, `${differ.length} of ${metrics.length} metrics of ${run.name} differ.`),
  );
  context.figures(run_figure(context, run, first_looked_at));
  if (shown.length > 0) {
    context.add(
      h("p", { class: "note" }, "Not significant: the 95 % interval of the difference contains zero."),
      draw_table(run_table(run, shown), `${run.name}, before and after`),
    );
  }
}

function differing(run: Pair<Run>, metrics: readonly string[]): string[] {
  const value = (side: Run, metric: string) => side.place.at("metrics").metric(metric).value;
  return metrics.filter((metric) => value(run.before, metric) !== value(run.after, metric));
}

function draw_parts(
  context: Context,
  title: string,
  pairs: readonly Pair<Named>[],
  first: Column[],
  rows: (one: Pair<Named>) => Cell[][],
): void {
  for (const one of pairs) {
    const body = rows(one);
    if (body.length === 0) continue;
    const columns = [...first, ...change_columns()];
    context.add(
      h("h2", {}, `${title}: ${one.name}`),
      draw_table({ columns, rows: body }, `${title}, before and after`),
    );
  }
}

function restore_rows({ before, after }: Pair<Named>): Cell[][] {
  const of = (side: Named) => side.place.at("policies").items;
  return pair(of(before), of(after), (place) => place.at("policy").text ?? "").map((one) => [
    words(one.name),
    words("ms"),
    ...change_cells(cell(one.before.at("ttft_s"), ms_of_s), cell(one.after.at("ttft_s"), ms_of_s), -1, 0),
  ]);
}

// Returns the rows of checks whose numbers or verdicts have changed.
function validation_rows({ before, after }: Pair<Named>): Cell[][] {
  const of = (side: Named) => side.place.at("checks").items;
  const old = new Map(of(before).map((check) => [check.at("id").text ?? "", check]));
  return of(after).flatMap((check) => {
    const other = old.get(check.at("id").text ?? "");
    if (!other) return [];
    const verdicts = [other, check].map((one) => one.at("verdict").text ?? "");
    const error = (one: Place) => cell(one.at("error"), { symbol: "%", scale: 100 });
    if (verdicts[0] === verdicts[1] && other.at("error").number === check.at("error").number) return [];
    return [
      [
        words(check.at("id").text ?? ""),
        words(verdicts.join(" \u2192 ")),
        ...change_cells(error(other), error(check), -1, 0),
      ],
    ];
  });
}

function plan_rows({ before, after }: Pair<Named>): Cell[][] {
  const metrics = after.place.at("answer", "metrics").entries.map(([name]) => name);
  const value = (side: Named, metric: string) =>
    metric_cell(side.place.at("answer", "metrics", metric, "mean"), metric);
  return metrics.map((metric) => [
    words(title_of(metric)),
    words(unit_of(metric).symbol),
    ...change_cells(value(before, metric), value(after, metric), better(metric), 0),
  ]);
}

export function changes(context: Context): void {
  const { before, after } = context.report;
  const named = (kind: "restores" | "validations" | "plans") =>
    pair(before[kind], after[kind], ({ name }) => name);
  draw_runs(context, before, after);
  draw_parts(
    context,
    "Restoration",
    named("restores"),
    [{ name: "TTFT of" }, { name: "Unit" }],
    restore_rows,
  );
  draw_parts(
    context,
    "Validation",
    named("validations"),
    [{ name: "Check" }, { name: "Verdict" }],
    validation_rows,
  );
  draw_parts(context, "Plan", named("plans"), [{ name: "Answer's" }, { name: "Unit" }], plan_rows);
}
