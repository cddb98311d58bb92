// Capacity page: the highest load that meets the targets, and times and goodput below and above it.
import { lines, type Line } from "../charts/lines.ts";
import type { Context } from "../context.ts";
import type { Named } from "../data.ts";
import { h } from "../dom.ts";
import { id_of, type Figure } from "../figure.ts";
import { list, show } from "../format.ts";
import type { Place } from "../place.ts";
import { cell, metric_cell, words, type Table } from "../table.ts";
import { title_of, unit_of } from "../quantities.ts";

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
    return {
      name: title_of(metric),
      style: { ...style, dash },
      points: this.points.flatMap((point): [number, number][] => {
        const x = point.at(this.unit).number;
        const y = point.at("metrics", metric).number;
        return x === null || y === null ? [] : [[x, y]];
      }),
    };
  }

  // Returns the mark of the capacity and its interval; only a line if there is no interval.
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
        words(point.at("missed").text ?? "\u2013"),
      ]),
    };
  }

  private chart(
    id: string,
    title: string,
    note: string,
    all: Line[],
    y: { name: string; unit: string; log?: boolean },
  ): Figure {
    const bound = this.place.at("meet", "p99_ttft_ms", "max").number;
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
        levels: y.log && bound !== null ? [{ name: `target p99 ${show(bound)} ms`, value: bound }] : [],
        mark: this.mark(),
      }),
      table: () => this.table(),
    };
  }

  draw(): void {
    if (this.points.length === 0) return;
    this.context.figures(
      this.chart(
        "ttft",
        `Time to first token over the load: ${this.named.name}`,
        "Dashed: the mean; solid: the 99th percentile. Grey: the interval of the capacity. Means over the seeds.",
        [this.line("p99_ttft_ms", "solid"), this.line("mean_ttft_ms", "dashed")],
        { name: "TTFT", unit: "ms", log: true },
      ),
      this.chart(
        "goodput",
        `What is served over the load: ${this.named.name}`,
        "Dashed: all answers; solid: those within the service level objectives.",
        [this.line("request_goodput", "solid"), this.line("request_throughput", "dashed")],
        { name: "answers", unit: "requests/s" },
      ),
    );
  }
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
