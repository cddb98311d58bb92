// Sweep: the points of a sweep as rows, with their names and the commands that repeat them.
import { brief } from "./format.ts";
import type { Place } from "./place.ts";
import { field_title, unit_of } from "./quantities.ts";

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
  readonly metrics: string[]; // metrics with at least one number
  readonly points: Point[]; // points that ran
  readonly failed: number;
  readonly unserved: number; // points that ran and are saturated

  constructor(readonly place: Place) {
    this.parameters = place.at("parameters").texts.filter((name) => this.column(name).exists);
    this.metrics = place
      .at("metrics")
      .texts.filter((name) => this.column(name).numbers.some((value) => value !== null));
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
    return this.parameters.map((path) => this.part(path, this.text(path, row))).join(", ");
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
