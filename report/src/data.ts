// Reads and checks the report's data, and groups its inputs and runs for the pages.
import { Place } from "./place.ts";
import { read_quantities, read_titles } from "./quantities.ts";
import { Palette, type Style } from "./theme.ts";

export class ReportError extends Error {}

export const page_names = [
  "overview",
  "latency",
  "cache",
  "resources",
  "restoration",
  "sweep",
  "plan",
  "capacity",
  "validation",
  "changes",
] as const;
export type PageName = (typeof page_names)[number];

export interface Run {
  label: string; // unique within its group
  policy: string;
  place: Place; // the result
  bound: boolean; // a bound for comparison that cannot be built, such as an infinite store
  style: Style;
}

// Returns half the width of a metric's interval; null if the result has none.
export function half_width(run: Run, metric: string): number | null {
  return run.place.at("intervals", metric, "half_width").number;
}

// Returns a metric's range on 80 % of the plausible machines; null if none were drawn.
export function plausible(run: Run, metric: string): { low: number; high: number } | null {
  const range = run.place.at("model_intervals", metric);
  const [low, high] = [range.at("low").number, range.at("high").number];
  return low === null || high === null ? null : { low, high };
}

// Runs of one workload, which can be compared.
export interface Group {
  name: string;
  input: string; // the first input that contains its runs; sentences name this input
  runs: Run[];
  differences: Place[];
}

// An input and its name.
export interface Named {
  name: string;
  place: Place;
}

// The schemas of documents that pages read directly, each with the list of a side that contains such
// documents.
const lists = {
  "kvcap.restore/1": "restores",
  "kvcap.plan_result/1": "plans",
  "kvcap.break_even/1": "break_evens",
  "kvcap.capacity/1": "capacities",
  "kvcap.validation/1": "validations",
  "kvcap.trace_stats/1": "traces",
  "kvcap.sweep_rows/1": "sweeps",
} as const;
type List = (typeof lists)[keyof typeof lists];

// One side of the report, "before" or "after".
export interface Side extends Record<List, Named[]> {
  groups: Group[];
}

export interface Report {
  title: string;
  version: string;
  after: Side;
  before: Side;
  has_before: boolean;
  // Returns true iff a metric's change is significant. If both sides served the same workload, the seeds or
  // turns are compared in pairs. Undefined for metrics that the takeaways do not cover.
  tells: (input: string, setting: string, metric: string) => boolean | undefined;
  // Returns half the width of a change's interval, in the unit in which the page shows the metric; null if
  // there is no interval.
  change_width: (input: string, setting: string, metric: string) => number | null;
  unknown: { name: string; schema: string }[];
  takeaways: (page: PageName) => string[];
  assumed: (input: string) => { lines: string[]; more: number };
  palette: Palette;
}

function is_bound(result: Place): boolean {
  const label = result.at("setting").text ?? "";
  const policy = result.at("scenario", "policy");
  return (
    result.at("is_bound").value === true ||
    result.at("policy").text === "ideal" ||
    policy.at("unbounded").value === true ||
    ["no cache", "infinite", "belady"].includes(label)
  );
}

function empty_side(): Side {
  const empty = Object.fromEntries(Object.values(lists).map((list) => [list, []])) as unknown as Record<
    List,
    Named[]
  >;
  return { groups: [], ...empty };
}

function check_result(result: Place, file: string): void {
  for (const key of ["scenario", "metrics"]) {
    if (result.at(key).entries.length === 0) throw new ReportError(`${file}: a result without ${key}`);
  }
}

const label_of = (result: Place): string => result.at("setting").text ?? result.at("policy").text ?? "run";

function add_group(side: Side, name: string, input: string, results: Place[], differences: Place[]): void {
  let group = side.groups.find((one) => one.name === name);
  if (!group) {
    group = { name, input, runs: [], differences: [] };
    side.groups.push(group);
  }
  for (const place of results) {
    const taken = new Set(group.runs.map((run) => run.label));
    const wanted = label_of(place);
    let label = wanted;
    for (let count = 2; taken.has(label); ++count) label = `${wanted} (${count})`;
    const style = undefined as unknown as Style; // set in read_report(), when all names are known
    group.runs.push({ label, policy: place.at("policy").text ?? "", place, bound: is_bound(place), style });
  }
  group.differences.push(...differences);
}

// Adds one input to its side; returns false if its schema is unknown.
function add_input(side: Side, name: string, content: Place): boolean {
  const schema = content.at("schema").text;
  switch (schema) {
    case "kvcap.result/1":
      check_result(content, name);
      add_group(side, content.at("scenario", "name").text || name, name, [content], []);
      return true;
    case "kvcap.compare/1": {
      const results = content.at("results").items;
      for (const result of results) check_result(result, name);
      add_group(side, name, name, results, content.at("differences").items);
      return true;
    }
  }
  if (schema === null || !(schema in lists)) return false;
  side[lists[schema as keyof typeof lists]].push({ name, place: content });
  return true;
}

// Returns the policy that the name of a curve's series begins with: "hcache" for "hcache, Llama-2-7B".
export const policy_of = (series: string): string => series.split(", ")[0]!;

// Returns every name that needs a colour, in order of appearance.
function names_of(side: Side): string[] {
  const texts = (places: Place[]) => places.flatMap((place) => place.text ?? []);
  return [
    ...side.groups.flatMap((group) => group.runs.map((run) => run.label)),
    ...side.restores.flatMap(({ place }) => texts(place.at("policies").items.map((one) => one.at("policy")))),
    ...side.break_evens.flatMap(({ place }) => texts(place.at("cells").items.map((one) => one.at("winner")))),
    ...side.sweeps.flatMap(({ place }) => place.at("columns", "policy.name").texts),
    ...texts(side.capacities.map(({ place }) => place.at("policy"))),
    ...side.plans.flatMap(({ place }) => place.at("judged").items.map(changed_policy)),
    ...side.validations.flatMap(({ place }) =>
      place
        .at("checks")
        .items.flatMap((check) => texts(check.at("curve", "points").items.map((one) => one.at("series"))))
        .map(policy_of),
    ),
  ].filter((name) => name !== "");
}

// Returns the policy that a plan's configuration sets; "" if it sets none.
export function changed_policy(candidate: Place): string {
  const change = candidate.at("changes").texts.find((text) => /^policy(\.name)?=/.test(text));
  return change ? change.slice(change.indexOf("=") + 1) : "";
}

export function read_report(text: string): Report {
  if (text.trim() === "") throw new ReportError("This page contains no data; kvcap report fills it in.");
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new ReportError(`The data of this page is not JSON: ${String(error)}`);
  }
  const root = new Place(parsed, "");
  const schema = root.at("schema").text;
  if (schema !== "kvcap.report/1") {
    throw new ReportError(
      `This page reads kvcap.report/1 and was given ${schema ?? "something without a schema"}.`,
    );
  }
  read_quantities(root.at("quantities"));
  read_titles(root.at("titles"));
  const after = empty_side();
  const before = empty_side();
  const unknown: Report["unknown"] = [];
  const inputs = root.at("inputs").items;
  for (const input of inputs) {
    const name = input.at("name").text ?? "input";
    const content = input.at("content");
    const side = input.at("side").text === "before" ? before : after;
    if (!add_input(side, name, content)) unknown.push({ name, schema: content.at("schema").text ?? "none" });
  }
  const palette = new Palette([...names_of(after), ...names_of(before)]);
  for (const group of [...after.groups, ...before.groups]) {
    for (const run of group.runs) run.style = palette.of(run.label);
  }
  const key = (...parts: (string | null)[]): string => JSON.stringify(parts);
  const changes = new Map(
    root
      .at("changes")
      .items.map((one) => [key(one.at("input").text, one.at("setting").text, one.at("metric").text), one]),
  );
  return {
    title: root.at("title").text ?? "kvcap report",
    tells: (input, setting, metric) => {
      const change = changes.get(key(input, setting, metric));
      return change && change.at("tells").value === true;
    },
    change_width: (input, setting, metric) =>
      changes.get(key(input, setting, metric))?.at("half_width").number ?? null,
    version: root.at("kvcap_version").text ?? "",
    after,
    before,
    has_before: inputs.some((input) => input.at("side").text === "before"),
    unknown,
    assumed: (input) => {
      const found = root.at("assumptions").items.find((one) => one.at("input").text === input);
      return { lines: found?.at("lines").texts ?? [], more: found?.at("more").number ?? 0 };
    },
    takeaways: (page) => root.at("takeaways", page).texts,
    palette,
  };
}
