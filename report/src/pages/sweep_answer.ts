// The answer of a sweep: under one load the cheapest point that meets the targets, else the one with the least p99
// TTFT; where the sweep varies nothing but the load, the heaviest load.
import { scatter, spans_decades, type Cloud } from "../charts/scatter.ts";
import { thin } from "../charts/common.ts";
import type { Context } from "../context.ts";
import type { Named } from "../data.ts";
import { id_of, type Figure } from "../figure.ts";
import { show } from "../format.ts";
import { MachineLoad } from "../machine.ts";
import { Place } from "../place.ts";
import { field_title, title_of, unit_of } from "../quantities.ts";
import { Sweep, type Point } from "../sweep.ts";
import { metric_cell, words } from "../table.ts";
import { answer_card, type Fact } from "./answer.ts";
import { objective_of, type Level } from "./targets.ts";

const tail = "p99_ttft_ms";
const price = "cost.usd_per_million_output_tokens";
const most_points = 1000;
const no_policy = { light: "#0a6ab0", dark: "#5aaef0", dash: "solid" as const, symbol: "circle" };

class SweepAnswer {
  readonly sweep: Sweep;
  readonly targets: [string, Level][];
  readonly served: Point[];
  readonly meeting: Point[];

  constructor(
    readonly context: Context,
    readonly named: Named,
  ) {
    this.sweep = new Sweep(named.place);
    const base = named.place.at("base");
    this.targets = [tail, "p99_tpot_ms"].flatMap((metric): [string, Level][] => {
      const level = objective_of(base, metric);
      return level ? [[metric, level]] : [];
    });
    this.served = this.sweep.points.filter(({ row }) => this.answers_all(row));
    this.meeting = this.served.filter(({ row }) =>
      this.targets.every(([metric, { value }]) => this.value(metric, row) <= value),
    );
  }

  private value(metric: string, row: number): number {
    const number = this.sweep.at(metric, row).number;
    return number === null ? Infinity : number * unit_of(metric).scale;
  }

  private answers_all(row: number): boolean {
    const lost = ["rejected", "failed"].some((metric) => (this.sweep.at(metric, row).number ?? 0) > 0);
    const offered = this.sweep.at("offered_load", row).number ?? 0;
    return !lost && offered <= 1 && !this.sweep.is_saturated(row) && Number.isFinite(this.value(tail, row));
  }

  private least(points: readonly Point[], metric: string): Point | null {
    return points.reduce<Point | null>(
      (best, one) => (best && this.value(metric, best.row) <= this.value(metric, one.row) ? best : one),
      null,
    );
  }

  private get meets(): boolean {
    return this.targets.length > 0 && this.meeting.length > 0;
  }

  // Returns the point that is the answer; by price among those that meet the targets.
  get best(): Point | null {
    const { sweep, meets } = this;
    const points = meets ? this.meeting : this.served;
    if (!sweep.has_choices) return sweep.heaviest(points);
    return this.least(sweep.at_same_load(points), meets ? price : tail);
  }

  private get question(): string {
    if (this.sweep.has_choices) return this.meets ? "Cheapest that meets the targets" : "Least p99 TTFT";
    return this.meets ? "Heaviest load that meets the targets" : "Heaviest load that is served";
  }

  facts(best: Point): Fact[] {
    const { sweep, targets, meeting, meets } = this;
    const text = (metric: string) => {
      const value = this.value(metric, best.row);
      return Number.isFinite(value) ? `${show(value)} ${unit_of(metric).symbol}` : "\u2013";
    };
    const asked = targets
      .map(([metric, { name }]) => `${title_of(metric)} ${name.replace("target ", "")}`)
      .join(", ");
    const runs = sweep.place.at("base", "replications").number ?? 1;
    const counts =
      targets.length > 0
        ? `${meeting.length} of ${sweep.points.length} points meet the targets, ${sweep.unserved} are saturated`
        : `${sweep.unserved} of ${sweep.points.length} points are saturated`;
    return [
      {
        name: this.question,
        text: sweep.has_choices ? sweep.choice(best.row) : sweep.name(best.row),
        note: [
          sweep.has_choices && sweep.load(best.row) !== "" ? `at ${sweep.load(best.row)}` : "",
          asked === "" ? "" : `asked: ${asked}`,
        ]
          .filter((text) => text !== "")
          .join("; "),
        mark: targets.length === 0 ? undefined : meets ? "good" : "bad",
      },
      { name: title_of(tail), text: text(tail), note: counts },
      { name: "Price", text: text(price), note: text("cost.usd_per_hour") },
      {
        name: "How sure",
        text: runs > 1 ? `means of ${show(runs)} runs` : "one run per point",
        note: runs > 1 ? "their intervals are in the results file" : "small differences may be chance",
      },
    ];
  }

  // Returns the machine of a point: the sweep's hardware with the values that the point sets.
  machine(row: number): MachineLoad {
    const { sweep } = this;
    const base = structuredClone(sweep.place.at("base").value ?? {}) as Record<string, unknown>;
    for (const path of sweep.parameters.filter((one) => one.startsWith("hardware."))) {
      const keys = path.split(".");
      const last = keys.pop()!;
      const parent = new Place(base, "").at(...keys).value as Record<string, unknown> | undefined;
      if (parent && Object.hasOwn(parent, last)) parent[last] = sweep.at(path, row).value;
    }
    return new MachineLoad(new Place(base, "").at("hardware"), (name) => sweep.at(name, row));
  }

  // Returns a figure of p99 TTFT over the numeric parameter with the most values.
  figure(best: Point): Figure | null {
    const { sweep, context } = this;
    const counts = sweep.parameters
      .filter((path) => sweep.is_numeric(path))
      .map((path): [string, number] => [path, sweep.values(path).length]);
    const [path] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? [];
    if (path === undefined) return null;
    const unit = unit_of(path);
    const points = thin(sweep.points, most_points);
    const dot = ({ row }: Point) => ({
      x: (sweep.at(path, row).number ?? 0) * unit.scale,
      y: this.value(tail, row),
      title: sweep.name(row),
      key: row,
      saturated: sweep.is_saturated(row),
    });
    const names = [...new Set(points.map(({ policy }) => policy))];
    const clouds: Cloud[] = names.map((name) => ({
      name,
      style: name === "" ? no_policy : context.report.palette.of(name),
      dots: points
        .filter(({ policy, row }) => policy === name && Number.isFinite(this.value(tail, row)))
        .map(dot),
    }));
    const ink = { light: "#1a1d23", dark: "#e6e8ec", dash: "solid" as const, symbol: "circle" };
    clouds.push({ name: "answer", style: ink, dots: [dot(best)], hollow: true, beside: best.policy });
    const shown = clouds.flatMap(({ dots }) => dots).filter((one) => !one.saturated);
    const x = { name: field_title(path), unit: unit.symbol, swept: true };
    return {
      id: id_of("answer", this.named.name),
      title: `${title_of(tail)} against ${x.name}`,
      note: "One dot per point of the sweep; the ring marks the answer.",
      says: `${title_of(tail)} of ${points.length} points against ${x.name}; the answer is ${sweep.name(best.row)}.`,
      height: 320,
      key:
        names.length > 1
          ? clouds.slice(0, -1).map(({ name, style }) => ({ name, colour: style[context.theme.mode] }))
          : undefined,
      option: scatter(
        context.theme,
        clouds,
        x,
        { name: title_of(tail), unit: "ms", log: spans_decades(shown.map((one) => one.y)) },
        {
          limit: this.targets
            .filter(([metric]) => metric === tail)
            .map(([, { name, value }]) => ({ name, y: value })),
        },
      ),
      table: () => ({
        columns: [
          { name: "Point" },
          { name: x.name, unit: unit.symbol },
          { name: title_of(tail), unit: "ms" },
        ],
        rows: points.map(({ row }) => [
          words(sweep.name(row)),
          metric_cell(sweep.at(path, row), path),
          metric_cell(sweep.at(tail, row), tail),
        ]),
      }),
    };
  }
}

// Draws the cards of all sweeps.
export function sweep_cards(context: Context, all: readonly Named[], titled: boolean): void {
  for (const named of all) {
    const one = new SweepAnswer(context, named);
    const best = one.best;
    if (!best) continue;
    answer_card(context, {
      title: titled ? named.name : "",
      facts: one.facts(best),
      figure: one.figure(best),
      load: one.machine(best.row),
      of: "the answer",
    });
  }
}
