// Sweep page: any metric over any parameter, the Pareto front, all points in parallel coordinates, and
// break-even maps.
import { colour, thin } from "../charts/common.ts";
import { parallel, type Dimension } from "../charts/parallel.ts";
import { scatter, spans_decades, type Axis, type Cloud, type Dot } from "../charts/scatter.ts";
import type { Context } from "../context.ts";
import { save } from "../csv.ts";
import { button, choice, h } from "../dom.ts";
import type { Figure } from "../figure.ts";
import { list } from "../format.ts";
import { Sweep, front, type Point } from "../sweep.ts";
import { metric_cell, words, type Table } from "../table.ts";
import { better, field_title, named, title_of, unit_of } from "../quantities.ts";
import { break_even_figures } from "./break_even.ts";
import { CommandPanel } from "./command.ts";

const most_points = 2000;
const few = 12; // a parameter with at most this many values has a filter

class SweepPage {
  readonly sweep: Sweep;
  readonly policies: string[];
  readonly points: Point[]; // points that pass the filters
  readonly metric: string;

  constructor(
    readonly context: Context,
    place: Sweep["place"],
  ) {
    this.sweep = new Sweep(place);
    this.policies = [...new Set(this.sweep.points.map((point) => point.policy))].filter(
      (name) => name !== "",
    );
    const on = context.switched_on(this.policies);
    const metrics = this.sweep.metrics;
    this.metric = context.chosen(
      "metric",
      metrics,
      metrics.includes("p99_ttft_ms") ? "p99_ttft_ms" : metrics[0],
    );
    const filters = this.filters();
    const left = this.sweep.points.filter(
      (point) =>
        (point.policy === "" || on.includes(point.policy)) &&
        filters.every(({ path, chosen }) => chosen === "" || this.sweep.text(path, point.row) === chosen),
    );
    this.points = thin(left, most_points);
    this.draw_bar(filters, on);
  }

  private filters(): { path: string; values: string[]; chosen: string }[] {
    return this.sweep.parameters
      .filter((path) => !/^policy(\.name)?$/.test(path))
      .map((path) => ({ path, values: this.sweep.values(path) }))
      .filter(({ values }) => values.length > 1 && values.length <= few)
      .map(({ path, values }) => ({ path, values, chosen: this.context.chosen(`only.${path}`, values, "") }));
  }

  private draw_bar(filters: ReturnType<SweepPage["filters"]>, on: readonly string[]): void {
    const { context, sweep } = this;
    const total = sweep.place.at("total_rows").number ?? sweep.points.length;
    const rows = sweep.place.at("rows").number ?? sweep.points.length;
    context.add(
      h(
        "div",
        { class: "bar" },
        context.select("Metric", "metric", sweep.metrics, this.metric, named),
        filters.map(({ path, values, chosen }, at) =>
          choice(
            field_title(path),
            `only-${at}`,
            [{ value: "", text: "all" }, ...values.map((value) => ({ value, text: value }))],
            chosen,
            (value) => context.go({ [`only.${path}`]: value === "" ? null : value }),
          ),
        ),
        this.policies.length > 1 ? context.legend(this.policies, on) : null,
      ),
      h(
        "p",
        { class: "note" },
        `${this.points.length} of ${total} points are shown` +
          (sweep.unserved > 0 ? `; ${sweep.unserved} of all are saturated` : "") +
          (sweep.failed > 0 ? `; ${sweep.failed} did not finish` : "") +
          (rows < total ? `; this page contains ${rows} of all, evenly spaced` : "") +
          ".",
      ),
    );
  }

  private style(policy: string) {
    return policy === ""
      ? { light: "#0a6ab0", dark: "#5aaef0", dash: "solid" as const, symbol: "circle" }
      : this.context.report.palette.of(policy);
  }

  // Returns a column as an axis; values that are not numbers become categories.
  private axis(name: string): { axis: Axis; categories?: string[]; value: (row: number) => number | null } {
    const unit = unit_of(name);
    const label = this.sweep.parameters.includes(name) ? field_title(name) : title_of(name);
    if (!this.sweep.is_numeric(name) && this.sweep.parameters.includes(name)) {
      const categories = this.sweep.values(name);
      return {
        axis: { name: label, unit: "" },
        categories,
        value: (row) => categories.indexOf(this.sweep.text(name, row)),
      };
    }
    const value = (row: number) => {
      const number = this.sweep.at(name, row).number;
      return number === null ? null : number * unit.scale;
    };
    // Saturated points are drawn in a separate strip, so the axis does not depend on them.
    const served = this.points.filter(({ row }) => !this.sweep.is_saturated(row));
    const values = (served.length > 0 ? served : this.points).flatMap(({ row }) => value(row) ?? []);
    const swept = this.sweep.parameters.includes(name);
    return { axis: { name: label, unit: unit.symbol, log: spans_decades(values), swept }, value };
  }

  private clouds(x: (row: number) => number | null, y: (row: number) => number | null): Cloud[] {
    const names = this.policies.length > 0 ? this.policies : [""];
    const dots = (policy: string): Dot[] =>
      this.points
        .filter((point) => point.policy === policy)
        .flatMap(({ row }) => {
          const [left, up] = [x(row), y(row)];
          return left === null || up === null
            ? []
            : [
                {
                  x: left,
                  y: up,
                  title: this.sweep.name(row),
                  key: row,
                  saturated: this.sweep.is_saturated(row),
                },
              ];
        });
    return names
      .map((name) => ({ name, style: this.style(name), dots: dots(name) }))
      .filter(({ dots: all }) => all.length > 0);
  }

  private table(metrics: readonly string[]): Table {
    const { sweep } = this;
    const columns = [...sweep.parameters, ...metrics.filter((name) => !sweep.parameters.includes(name))];
    return {
      columns: [
        { name: "Point" },
        ...columns.map((name) => ({
          name: sweep.parameters.includes(name) ? field_title(name) : title_of(name),
          unit: unit_of(name).symbol,
        })),
        { name: "Command" },
      ],
      rows: this.points.map(({ row }) => [
        words(String(row + 1)),
        ...columns.map((name) => {
          const place = sweep.at(name, row);
          return place.number === null ? words(sweep.text(name, row)) : metric_cell(place, name);
        }),
        words(sweep.command(row)),
      ]),
    };
  }

  private commands(hint: string): { panel: CommandPanel; show: (row: number) => void } {
    const panel = new CommandPanel(hint);
    const base = this.sweep.place.at("base").value;
    const show = (row: number) =>
      panel.show(
        this.sweep.name(row),
        this.sweep.command(row),
        button("Save base.json", { class: "plain" }, () =>
          save("base.json", JSON.stringify(base, null, 2), "application/json"),
        ),
      );
    return { panel, show };
  }

  parallel(): Figure {
    const { sweep, context } = this;
    const more = ["token_hit_rate", "cost.usd_per_million_output_tokens"].filter(
      (name) => sweep.metrics.includes(name) && sweep.values(name).length > 1,
    );
    const names = [...sweep.parameters.slice(0, 7), ...new Set([...more, this.metric])];
    const axes = names.map((name) => this.axis(name));
    const dimensions: Dimension[] = axes.map(({ axis, categories }) => ({ ...axis, categories }));
    return {
      id: "parallel",
      title: "All points at once",
      note: "One line per point. Drag along an axis to keep the lines that pass there; click outside the selection to clear it.",
      says: `Parallel coordinates of ${this.points.length} points over ${list(dimensions.map(({ name }) => name))}.`,
      height: 340,
      wide: true,
      min_width: 90 * names.length + 60,
      option: parallel(
        context.theme,
        dimensions,
        this.points.map(({ row, policy }) => ({
          values: axes.map(({ value }) => value(row)),
          colour: colour(this.style(policy), context.theme),
          title: policy,
        })),
      ),
      table: () => this.table(names),
    };
  }

  // Returns a figure of the selected metric over one column.
  against(name: string, id: string, controls?: Node): Figure {
    const x = this.axis(name);
    const y = this.axis(this.metric);
    const clouds = this.clouds(x.value, y.value);
    const { panel, show } = this.commands(
      "Click a point, or walk with the arrow keys and press Enter, for its command.",
    );
    const main = controls !== undefined;
    return {
      id,
      title: `${y.axis.name} against ${x.axis.name}`,
      says: `${y.axis.name} against ${x.axis.name}: ${this.points.length} points.`,
      height: main ? 320 : 220,
      controls,
      option: scatter(this.context.theme, clouds, x.axis, y.axis, { categories: x.categories, small: !main }),
      table: () => this.table([name, this.metric]),
      below: main ? panel.element : undefined,
      picked: main
        ? ({ series, item }) => {
            const dot = clouds[series]?.dots[item];
            if (dot) show(dot.key);
          }
        : undefined,
    };
  }

  pareto(): Figure | null {
    const { context, sweep } = this;
    const judged = sweep.metrics.filter((name) => better(name) !== 0);
    const other = judged.filter((name) => name !== this.metric);
    if (better(this.metric) === 0 || other.length === 0) return null;
    const usual = ["cost.usd_per_million_output_tokens", "output_throughput"].find((name) =>
      other.includes(name),
    );
    const name = context.chosen("pareto", other, usual ?? other[0]);
    const x = this.axis(name);
    const y = this.axis(this.metric);
    const clouds = this.clouds(x.value, y.value);
    const all = clouds.flatMap((cloud) => cloud.dots);
    const served = all.filter((dot) => !dot.saturated);
    const kept = front(served, better(name), better(this.metric));
    const on_front = kept.map((key) => all.find((dot) => dot.key === key)!);
    const ink = { light: "#1a1d23", dark: "#e6e8ec", dash: "solid" as const, symbol: "circle" };
    const drawn: Cloud[] = [
      ...clouds,
      { name: "Pareto front", style: ink, dots: on_front, line: "steps", hollow: true },
    ];
    const { panel, show } = this.commands(
      "Click a point, or walk with the arrow keys and press Enter, for its command.",
    );
    const rows = new Set(kept);
    return {
      id: "pareto",
      title: `Pareto front: ${y.axis.name} against ${x.axis.name}`,
      note: "Rings mark the Pareto front: no other point that serves its load is at least as good in both metrics.",
      says: `${y.axis.name} against ${x.axis.name}; ${on_front.length} of ${served.length} points that are not saturated are on the Pareto front.`,
      height: 320,
      controls: context.select("Against", "pareto", other, name, named),
      option: scatter(context.theme, drawn, x.axis, y.axis),
      table: () => {
        const table = this.table([name, this.metric]);
        const shown = this.points.map((point) => rows.has(point.row));
        return {
          columns: [...table.columns, { name: "On the front" }],
          rows: table.rows.map((row, at) => [...row, words(shown[at] ? "yes" : "no")]),
        };
      },
      below: panel.element,
      picked: ({ series, item }) => {
        const dot = drawn[series]?.dots[item];
        if (dot) show(dot.key);
      },
    };
  }

  draw(): void {
    const { context, sweep } = this;
    const columns = [...sweep.parameters, ...sweep.metrics.filter((name) => name !== this.metric)];
    const first = sweep.parameters.find((path) => sweep.is_numeric(path)) ?? columns[0] ?? "";
    const x = context.chosen("x", columns, first);
    const text = (name: string) => (sweep.parameters.includes(name) ? field_title(name) : named(name));
    const others = sweep.parameters.filter(
      (path) => path !== x && !/^policy(\.name)?$/.test(path) && sweep.values(path).length > 1,
    );
    context.figures(
      this.against(x, "scatter", context.select("Against", "x", columns, x, text)),
      this.pareto(),
      this.parallel(),
      ...others.slice(0, 6).map((path, at) => this.against(path, `multiple-${at + 1}`)),
    );
  }
}

export function sweep(context: Context): void {
  const { sweeps, break_evens } = context.report.after;
  const names = sweeps.map(({ name }) => name);
  const chosen = context.chosen("sweep", names);
  if (names.length > 1)
    context.add(h("div", { class: "bar" }, context.select("Sweep", "sweep", names, chosen)));
  const one = sweeps.find(({ name }) => name === chosen);
  if (one) {
    const page = new SweepPage(context, one.place);
    if (page.points.length > 0 && page.metric !== "") page.draw();
    else
      context.add(
        h(
          "p",
          { class: "note" },
          "No point is left: clear the filters, or see why the sweep's points failed.",
        ),
      );
  }
  context.figures(...break_evens.flatMap((each) => break_even_figures(context, each)));
}
