// Capacity page: the highest load that meets the targets, and latencies and goodput below and above it.
import { lines, type Line } from "../charts/lines.ts";
import type { Context } from "../context.ts";
import type { Named } from "../data.ts";
import { h } from "../dom.ts";
import { id_of, type Figure } from "../figure.ts";
import { list, show, show_interval } from "../format.ts";
import type { Place } from "../place.ts";
import { cell, metric_cell, words, type Table } from "../table.ts";
import { title_of, unit_of } from "../quantities.ts";
import { MachineLoad } from "../machine.ts";
import { answer_card, type Fact } from "./answer.ts";
import { levels_of, targets_text } from "./targets.ts";

const always = ["mean_ttft_ms", "p99_ttft_ms", "p99_tpot_ms", "output_throughput", "request_throughput"];
const when_known = ["request_goodput", "rejected_share", "failed_share", "truncated_share"];

class CapacityPage {
  readonly place: Place;
  readonly unit: string;
  readonly points: Place[];
  readonly capacity: number;

  constructor(
    readonly context: Context,
    readonly named: Named,
  ) {
    this.place = named.place;
    this.unit = this.place.at("unit").text === "concurrency" ? "concurrency" : "requests_per_s";
    this.points = this.place.at("curve").items;
    this.capacity = this.place.at("capacity", "mean").number ?? 0;
  }

  private get load_name(): string {
    return this.unit === "concurrency" ? "active sessions" : "load";
  }
  private get load_unit(): string {
    return this.unit === "concurrency" ? "" : "requests/s";
  }

  private line(metric: string, dash: "solid" | "dashed"): Line {
    const style = this.context.report.palette.of(this.place.at("policy").text ?? "");
    const unit = unit_of(metric);
    const known = this.points.flatMap((point) => {
      const x = point.at(this.unit).number;
      const y = point.at("metrics", metric).number;
      const half = point.at("half_widths", metric).number;
      return x === null || y === null ? [] : [{ x, y: y * unit.scale, half }];
    });
    return {
      name: title_of(metric),
      style: { ...style, dash },
      points: known.map(({ x, y }): [number, number] => [x, y]),
      half_widths: known.map(({ half }) => (half === null ? null : half * unit.scale)),
    };
  }

  // Returns the lowest saturated load.
  private get saturated_from(): number | undefined {
    const found = this.points.find((point) => point.at("stable").text === "saturated");
    return found?.at(this.unit).number ?? undefined;
  }

  // Returns the mark of the capacity with its interval; if there is none, the interval has no width.
  private mark() {
    const [from, to] = [0, 1].map((end) => this.place.at("capacity", "interval", end).number);
    const text = `capacity ${show(this.capacity)}`;
    return { name: text, at: this.capacity, from: from ?? this.capacity, to: to ?? this.capacity };
  }

  private table(): Table {
    const known = when_known.filter((metric) =>
      this.points.some((point) => (point.at("metrics", metric).number ?? 0) > 0),
    );
    const metrics = [...always, ...known];
    return {
      columns: [
        { name: this.load_name, unit: this.load_unit },
        ...metrics.map((metric) => ({ name: title_of(metric), unit: unit_of(metric).symbol })),
        { name: "Stability" },
        { name: "Misses" },
      ],
      rows: this.points.map((point) => [
        cell(point.at(this.unit)),
        ...metrics.map((metric) =>
          metric_cell(point.at("metrics", metric), metric, point.at("half_widths", metric).number),
        ),
        words(point.at("stable").text ?? "\u2013"),
        words(title_of(point.at("missed").text ?? "\u2013")),
      ]),
    };
  }

  private chart(
    id: string,
    title: string,
    note: string,
    all: Line[],
    y: { name: string; unit: string; log?: boolean },
    target = "", // the metric whose bounds are drawn
  ): Figure {
    const drawn = all.filter((line) => line.points.length > 0);
    return {
      id: id_of(id, this.named.name),
      title,
      note,
      says: `${title}: ${list(
        drawn.map((line) => {
          const [first, last] = [line.points[0]!, line.points[line.points.length - 1]!];
          return `${line.name} goes from ${show(first[1])} to ${show(last[1])} ${y.unit} between ${show(first[0])} and ${show(last[0])}`;
        }),
      )}.`,
      height: 300,
      option: lines(this.context.theme, drawn, {
        x: { name: this.load_name, unit: this.load_unit },
        y: { ...y, min: y.log ? undefined : 0 },
        symbols: true,
        levels: levels_of(this.place.at("meet"), target),
        saturated_from: this.saturated_from,
        mark: this.mark(),
      }),
      table: () => this.table(),
    };
  }

  // Returns a chart for each latency that has a target and is not in the chart of TTFT.
  private others(): Figure[] {
    const metrics = this.place.at("meet").entries.map(([metric]) => metric);
    return metrics
      .filter((metric) => metric.endsWith("_ms") && !/^(p99|mean)_ttft_ms$/.test(metric))
      .map((metric) =>
        this.chart(
          metric,
          `${title_of(metric)} over the load`,
          "Whiskers are 95 % intervals. Grey: the interval of the capacity.",
          [this.line(metric, "solid")],
          { name: title_of(metric), unit: unit_of(metric).symbol, log: true },
          metric,
        ),
      );
  }

  private ttft(): Figure {
    const target = this.place.at("meet", "mean_ttft_ms").exists ? "mean_ttft_ms" : "p99_ttft_ms";
    return this.chart(
      "ttft",
      "Time to first token over the load",
      "Dashed: the mean; solid: the 99th percentile; whiskers: 95 % intervals. Grey: the interval of the capacity.",
      [this.line("p99_ttft_ms", "solid"), this.line("mean_ttft_ms", "dashed")],
      { name: "TTFT", unit: "ms", log: true },
      target,
    );
  }

  // Returns the capacity with its targets, the price at this load, and the certainty.
  private facts(): Fact[] {
    const { place } = this;
    const [from, to] = [0, 1].map((end) => place.at("capacity", "interval", end).number);
    const seeds = place.at("seeds").number ?? 1;
    const held = [...this.points].reverse().find((one) => (one.at(this.unit).number ?? 0) <= this.capacity);
    const price = held?.at("metrics", "cost.usd_per_million_output_tokens").number ?? null;
    const half = held?.at("half_widths", "cost.usd_per_million_output_tokens").number ?? null;
    const unit = this.load_unit === "" ? this.load_name : this.load_unit;
    return [
      {
        name: `${place.at("policy").text ?? "It"} serves`,
        text: `${show(this.capacity)} ${unit}`,
        note: `within ${targets_text(place.at("meet"))}`,
        mark: this.capacity > 0 ? "good" : "bad",
      },
      {
        name: "Price",
        text: price === null ? "\u2013" : `${show_interval(price, half)} $`,
        note: "per million output tokens at this load",
      },
      from === null || from === undefined
        ? { name: "How sure", text: "one seed", note: "chance is not excluded" }
        : {
            name: "How sure",
            text: `${show(from)} to ${to === null || to === undefined ? "more" : show(to)}`,
            note: `95 % interval in ${unit}, ${show(seeds)} seeds`,
          },
    ];
  }

  card(title: string): void {
    const name = this.place.at("policy").text ?? "";
    answer_card(this.context, {
      title,
      facts: this.facts(),
      figure: this.points.length > 0 ? this.ttft() : null,
      load: MachineLoad.of(this.place.at("machine")),
      of: `${name} at its capacity`,
    });
  }

  draw(): void {
    if (this.points.length === 0) return;
    this.card("");
    this.context.figures(
      this.chart(
        "goodput",
        "Throughput over the load",
        "Dashed: all answers; solid: answers within the targets; whiskers: 95 % intervals.",
        [this.line("request_goodput", "solid"), this.line("request_throughput", "dashed")],
        { name: "requests/s", unit: "" },
      ),
      ...this.others(),
    );
  }
}

// Draws the cards of all capacities on the overview.
export function capacity_cards(context: Context, titled: boolean): void {
  for (const one of context.report.after.capacities)
    new CapacityPage(context, one).card(titled ? one.name : "");
}

export function capacity(context: Context): void {
  const { capacities } = context.report.after;
  const names = capacities.map(({ name }) => name);
  const chosen = context.chosen("capacity", names);
  if (names.length > 1)
    context.add(h("div", { class: "bar" }, context.select("Capacity", "capacity", names, chosen)));
  const one = capacities.find(({ name }) => name === chosen);
  if (one) new CapacityPage(context, one).draw();
}
