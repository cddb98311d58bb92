// Plan page: the cheapest configuration that meets the targets, its alternatives, and what would change the
// answer.
import { scatter, spans_decades, type Cloud } from "../charts/scatter.ts";
import { thin } from "../charts/common.ts";
import { tornado, tornado_height, type Gust } from "../charts/tornado.ts";
import type { Context } from "../context.ts";
import { changed_policy, type Named } from "../data.ts";
import { h } from "../dom.ts";
import { list, show } from "../format.ts";
import type { Figure } from "../figure.ts";
import type { Place } from "../place.ts";
import { cell, draw_table, words, type Table } from "../table.ts";
import { title_of, unit_of } from "../quantities.ts";
import { candidate_table, changes, mean, readable, scaled, what_table } from "./candidates.ts";
import { CommandPanel } from "./command.ts";

const most_points = 1800;
class PlanPage {
  readonly plan: Place;
  readonly answer: Place;
  readonly metrics: string[];
  readonly objective: string;

  constructor(
    readonly context: Context,
    readonly named: Named,
  ) {
    this.plan = named.place;
    this.answer = this.plan.at("answer");
    const some = this.answer.exists ? this.answer : this.plan.at("judged", 0);
    this.metrics = some.at("metrics").entries.map(([name]) => name);
    this.objective = this.plan.at("minimize").text ?? this.metrics[0] ?? "";
  }

  // Draws the metrics of the answer and its command; the sentences above name it.
  answer_table(): void {
    if (!this.answer.exists) return;
    const panel = new CommandPanel("");
    panel.show("Run it again:", this.answer.at("command").text ?? "");
    this.context.add(
      h("h2", {}, "The answer"),
      draw_table(candidate_table([this.answer], this.metrics, false), "The answer"),
      panel.element,
    );
  }

  // Draws all judged configurations over two metrics of the plan, with the answer and the front highlighted.
  choices(): Figure | null {
    const { context, plan, answer } = this;
    const others = this.metrics.filter((metric) => metric !== this.objective);
    if (others.length === 0) return null;
    const metric = context.chosen("metric", others);
    const [x, y] = [unit_of(this.objective), unit_of(metric)];
    const judged = plan.at("judged").items;
    const policies = [...new Set(judged.map(changed_policy))].filter((name) => name !== "");
    const on = context.switched_on(policies);
    const kept = judged.filter(
      (candidate) => changed_policy(candidate) === "" || on.includes(changed_policy(candidate)),
    );
    const shown = thin(kept, most_points);
    const front = plan.at("front").items;
    const dot = (candidate: Place, key: number) => {
      const [left, up] = [
        scaled(mean(candidate, this.objective), this.objective),
        scaled(mean(candidate, metric), metric),
      ];
      return left === null || up === null ? [] : [{ x: left, y: up, title: changes(candidate), key }];
    };
    const names = [...new Set(shown.map(changed_policy))];
    const clouds: Cloud[] = names.map((name) => ({
      name: name === "" ? "configurations" : name,
      style: context.report.palette.of(name),
      dots: shown.flatMap((candidate, key) =>
        changed_policy(candidate) === name ? dot(candidate, key) : [],
      ),
    }));
    const ink = { light: "#1a1d23", dark: "#e6e8ec", dash: "solid" as const, symbol: "emptyCircle" };
    const ordered = [...front].sort(
      (a, b) => (mean(a, this.objective).number ?? 0) - (mean(b, this.objective).number ?? 0),
    );
    clouds.push({
      name: "Pareto front",
      style: ink,
      dots: ordered.flatMap((candidate) => dot(candidate, -1)),
      line: "steps",
    });
    if (answer.exists)
      clouds.push({
        name: "answer",
        style: { ...ink, symbol: "diamond" },
        dots: dot(answer, -1),
        strong: true,
      });
    const values = clouds.flatMap((cloud) => cloud.dots);
    const panel = new CommandPanel(
      "Click a point, or walk with the arrow keys and press Enter, for its command.",
    );
    const left_out = kept.length - shown.length;
    return {
      id: "choices",
      title: `${title_of(metric)} against ${title_of(this.objective)}`,
      note: `Every configuration that was simulated; the diamond is the answer.${left_out > 0 ? ` ${left_out} are left out, evenly.` : ""}`,
      says: `${judged.length} configurations, ${front.length} of them on the Pareto front.`,
      height: 380,
      wide: true,
      controls: [
        others.length > 1 ? context.select("Metric", "metric", others, metric, title_of) : null,
        policies.length > 1 ? context.legend(policies, on) : null,
      ],
      option: scatter(
        context.theme,
        clouds,
        { name: title_of(this.objective), unit: x.symbol, log: spans_decades(values.map((one) => one.x)) },
        { name: title_of(metric), unit: y.symbol, log: spans_decades(values.map((one) => one.y)) },
      ),
      table: () => candidate_table(judged, this.metrics, true),
      below: panel.element,
      picked: ({ series, item }) => {
        const one = clouds[series]?.dots[item];
        const found =
          one &&
          [...judged, ...front, answer].find(
            (candidate) => candidate.exists && changes(candidate) === one.title,
          );
        if (found) panel.show(changes(found), found.at("command").text ?? "There is no command for it.");
      },
    };
  }

  // Draws the effect of prices on the answer's objective.
  prices(): Figure | null {
    const items = this.plan.at("prices").items;
    const from = scaled(mean(this.answer, this.objective), this.objective);
    if (items.length === 0 || from === null) return null;
    const unit = unit_of(this.objective);
    return this.tornado_of("prices", "If prices change", title_of(this.objective), unit.symbol, from, {
      note: "How far the answer's cost moves. Red: another configuration is then cheaper.",
      rows: items.map((item) => ({
        name: item.at("what").text ?? "",
        value: scaled(item.at("objective"), this.objective) ?? from,
        note:
          item.at("still_best").value === false
            ? `then best: ${item.at("best").texts.join(", ")}`
            : "still best",
        colour: item.at("still_best").value === false ? this.context.theme.bad : this.context.theme.accent,
      })),
      table: () => ({
        columns: [
          { name: "What" },
          { name: title_of(this.objective), unit: unit.symbol },
          { name: "Still best" },
          { name: "Best then" },
        ],
        rows: items.map((item) => [
          words(item.at("what").text ?? ""),
          cell(item.at("objective"), unit),
          cell(item.at("still_best")),
          words(item.at("best").texts.join(", ")),
        ]),
      }),
    });
  }

  private tornado_of(
    id: string,
    title: string,
    name: string,
    unit: string,
    from: number,
    more: { note: string; rows: Gust[]; table: () => Table; controls?: Node },
  ): Figure {
    const rows = [...more.rows].sort((a, b) => Math.abs(b.value - from) - Math.abs(a.value - from));
    return {
      id,
      title,
      note: more.note,
      says: `${name} is ${show(from)} ${unit} at the answer; ${list(rows.map((row) => `${row.name}: ${show(row.value)} ${unit}`))}.`,
      height: tornado_height(rows.length),
      controls: more.controls,
      option: tornado(this.context.theme, from, rows, { name, unit, here: "answer" }),
      table: more.table,
    };
  }

  // Draws the neighbours of the answer (marginal), or the answer under other loads (robustness).
  moves(key: "marginal" | "robustness", title: string, note: string): Figure | null {
    const items = this.plan.at(key).items;
    const metric = this.context.chosen(
      `${key}_metric`,
      this.metrics,
      this.plan.at("binding").text ?? this.metrics[0],
    );
    const from = scaled(mean(this.answer, metric), metric);
    if (items.length === 0 || from === null) return null;
    const { theme } = this.context;
    const unit = unit_of(metric);
    const candidates = items.map((item) => item.at("candidate"));
    const names = items.map((item) => readable(item.at("what").text ?? ""));
    const rows = items.flatMap((_, at): Gust[] => {
      const candidate = candidates[at]!;
      const value = scaled(mean(candidate, metric), metric);
      const verdict = candidate.at("verdict").text ?? "";
      const paint = verdict === "misses" ? theme.bad : verdict === "unclear" ? theme.quiet : theme.accent;
      return value === null ? [] : [{ name: names[at]!, value, note: verdict, colour: paint }];
    });
    return this.tornado_of(key, title, title_of(metric), unit.symbol, from, {
      note,
      rows,
      controls: this.context.select("Metric", `${key}_metric`, this.metrics, metric, title_of),
      table: () => what_table(candidates, this.metrics, names),
    });
  }

  draw(): void {
    this.answer_table();
    this.context.figures(
      this.choices(),
      this.moves(
        "marginal",
        "What to buy next",
        "The neighbours of the answer, one step of one field away. Red: misses a target; grey: unclear.",
      ),
      this.moves(
        "robustness",
        "If the load is another",
        "The answer under other traffic and prompts. Red: misses a target; grey: unclear.",
      ),
      this.prices(),
    );
    const { plan } = this;
    const alternatives = [...plan.at("rivals").items, ...plan.at("front").items];
    if (alternatives.length > 0) {
      this.context.add(
        h("h2", {}, "Alternatives"),
        draw_table(
          candidate_table(alternatives, this.metrics, false),
          "Rivals of the answer, then the Pareto front, by the fields in which they differ",
        ),
      );
    }
  }
}

export function plan(context: Context): void {
  const { plans } = context.report.after;
  const names = plans.map(({ name }) => name);
  const chosen = context.chosen("plan", names);
  if (names.length > 1)
    context.add(h("div", { class: "bar" }, context.select("Plan", "plan", names, chosen)));
  const one = plans.find(({ name }) => name === chosen);
  if (one) new PlanPage(context, one).draw();
}
