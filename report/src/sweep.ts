// Sweep: the points of a sweep as rows, with their names and the commands that repeat them.
import { brief } from "./format.ts";
import type { Place } from "./place.ts";
import { field_title, overview_rows, unit_of } from "./quantities.ts";

export interface Point {
  row: number; // index into the columns
  policy: string; // "" if the sweep does not vary it
}

// Returns a shell word, quoted if necessary.
function shell_word(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function value_text(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null);
}

export class Sweep {
  readonly parameters: string[];
  readonly metrics: string[]; // those that can be chosen: some of the metrics that differ between the points
  readonly points: Point[]; // points that ran
  readonly failed: number;
  readonly unserved: number; // points that ran and are saturated

  constructor(readonly place: Place) {
    this.parameters = place.at("parameters").texts.filter((name) => this.column(name).exists);
    const statuses = this.column("status").items;
    const count = place.at("rows").number ?? statuses.length;
    const all = Array.from({ length: count }, (_, row) => row);
    const ran = all.filter((row) => statuses.length === 0 || statuses[row]?.text === "ok");
    this.failed = count - ran.length;
    this.unserved = ran.filter((row) => this.is_saturated(row)).length;
    this.points = ran.map((row) => ({
      row,
      policy: this.at("policy.name", row).text ?? this.at("policy", row).text ?? "",
    }));
    this.metrics = this.worth_choosing(place.at("metrics").texts);
  }

  // Of the statistics, mean and p99; those of the first table come first. The CSV has all.
  private worth_choosing(names: readonly string[]): string[] {
    const differs = (name: string): boolean => {
      const values = this.points.map(({ row }) => this.at(name, row).number);
      return values.some((value) => value !== null) && (values.length < 2 || new Set(values).size > 1);
    };
    const kept = names.filter((name) => !/^(median|std|p90|p95)_/.test(name) && differs(name));
    const first = overview_rows().filter((name) => kept.includes(name));
    return [...first, ...kept.filter((name) => !first.includes(name))];
  }

  column(name: string): Place {
    return this.place.at("columns", name);
  }
  at(name: string, row: number): Place {
    return this.column(name).at(row);
  }
  // Returns the value with its unit, such as "128 GB". The command contains the value as it is set.
  text(name: string, row: number): string {
    const value = this.at(name, row).value;
    if (typeof value !== "number") return value_text(value);
    const unit = unit_of(name);
    return `${brief(value * unit.scale, 6)} ${unit.symbol}`.trimEnd();
  }

  is_saturated(row: number): boolean {
    return this.at("stable.verdict", row).text === "saturated";
  }

  // Returns the distinct values of a parameter as text, in order.
  values(name: string): string[] {
    const seen = new Map<string, unknown>();
    for (const { row } of this.points) seen.set(this.text(name, row), this.at(name, row).value);
    const order = [...seen].sort(([a, x], [b, y]) =>
      typeof x === "number" && typeof y === "number" ? x - y : a < b ? -1 : 1,
    );
    return order.map(([text]) => text);
  }
  is_numeric(name: string): boolean {
    return this.points.length > 0 && this.points.every(({ row }) => this.at(name, row).number !== null);
  }

  name(row: number): string {
    return this.named(this.parameters, row);
  }
  private named(paths: readonly string[], row: number): string {
    return paths.map((path) => this.part(path, this.text(path, row))).join(", ");
  }

  // What the sweep varies: the load, and what is chosen to serve it. Choices are compared under the same load.
  private varied(of_load: boolean): string[] {
    return this.parameters.filter(
      (path) => path.startsWith("workload.") === of_load && this.values(path).length > 1,
    );
  }
  get has_choices(): boolean {
    return this.varied(false).length > 0;
  }
  choice(row: number): string {
    return this.named(this.varied(false), row);
  }
  load(row: number): string {
    return this.named(this.varied(true), row);
  }

  // Returns the heaviest load of the points, by its parameters in order.
  heaviest(points: readonly Point[]): Point | null {
    const loads = this.varied(true);
    const heavier = (a: Point, b: Point): boolean => {
      const apart = loads
        .map((path) => (this.at(path, a.row).number ?? 0) - (this.at(path, b.row).number ?? 0))
        .find((difference) => difference !== 0);
      return (apart ?? 0) > 0;
    };
    return points.reduce<Point | null>((most, one) => (most && !heavier(one, most) ? most : one), null);
  }

  // Returns the points of the load that most of them have, of equals the heaviest.
  at_same_load(points: readonly Point[]): Point[] {
    const by_load = new Map<string, Point[]>();
    for (const one of points) {
      const load = this.load(one.row);
      by_load.set(load, [...(by_load.get(load) ?? []), one]);
    }
    const most = Math.max(0, ...[...by_load.values()].map((those) => those.length));
    const largest = [...by_load.values()].filter((those) => those.length === most);
    const first = this.heaviest(largest.map((those) => those[0]!));
    return first ? by_load.get(this.load(first.row))! : [];
  }

  // Returns "hcache", "4 SSDs" or "session rate 0.2 sessions/s".
  private part(path: string, text: string): string {
    if (/^policy(\.name)?$/.test(path)) return text;
    const title = field_title(path);
    if (!/(\.count|^fleet\.replicas)$/.test(path)) return `${title} ${text}`;
    return `${text} ${text === "1" ? title.replace(/s$/, "") : title}`;
  }

  // Returns the command that repeats the point; base.json is the sweep's scenario, which the page can save.
  command(row: number): string {
    const sets = this.parameters.map(
      (path) => `--set ${shell_word(`${path}=${value_text(this.at(path, row).value)}`)}`,
    );
    return ["kvcap run base.json", ...sets].join(" ");
  }
}

// Returns the keys of the points on the Pareto front, ordered by x. `x_sign`, `y_sign`: 1 if more is better,
// else -1.
export function front(
  points: readonly { x: number; y: number; key: number }[],
  x_sign: number,
  y_sign: number,
): number[] {
  const order = [...points].sort((a, b) => x_sign * (b.x - a.x) || y_sign * (b.y - a.y));
  const kept: number[] = [];
  let best = -Infinity;
  for (const point of order) {
    if (y_sign * point.y > best) {
      best = y_sign * point.y;
      kept.push(point.key);
    }
  }
  return kept;
}
