// Plan page: the cheapest configuration that meets the targets, its alternatives, and what would change the
// answer.
import { scatter, spans_decades, type Cloud } from "../charts/scatter.ts";
import { thin, with_unit } from "../charts/common.ts";
import { tornado, tornado_height, type Gust } from "../charts/tornado.ts";
import type { Context } from "../context.ts";
import { changed_policy, type Named } from "../data.ts";
import { h } from "../dom.ts";
import { list, show, show_interval } from "../format.ts";
import { id_of, type Figure } from "../figure.ts";
import { span_of, type Span } from "../charts/spans.ts";
import type { Place } from "../place.ts";
import { cell, draw_table, words, type Table } from "../table.ts";
import { title_of, unit_of } from "../quantities.ts";
import { field_title } from "../quantities.ts";
import { MachineLoad } from "../machine.ts";
import { answer_card, type Fact } from "./answer.ts";
import {
  candidate_table,
  changes,
  half_width,
  mean,
  scaled,
  moves_table,
  verdict_text,
} from "./candidates.ts";
import { CommandPanel } from "./command.ts";
import { levels_of, targets_text, type Level } from "./targets.ts";

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

  // Draws the metrics of the answer and the command that repeats it. The takeaways above name the answer.
  answer_table(): void {
    if (!this.answer.exists) return;
    const panel = new CommandPanel("");
    panel.show("Command that repeats it:", this.answer.at("command").text ?? "");
    this.context.add(
      h("h2", {}, "The answer"),
      draw_table(candidate_table([this.answer], this.metrics, false), "The answer"),
      panel.element,
    );
  }

  private half(candidate: Place, metric: string): number | null {
    const half = half_width(candidate, metric);
    return half === null ? null : half * unit_of(metric).scale;
  }

  // Returns the configuration that meets the targets, its price, and the certainty.
  facts(): Fact[] {
    const { plan, answer } = this;
    const shown = answer.exists ? answer : plan.at("nearest");
    const text = (metric: string) =>
      `${show_interval(scaled(mean(shown, metric), metric), this.half(shown, metric))} ${unit_of(metric).symbol}`;
    const targets = plan.at("meet").entries.map(([metric]) => `${title_of(metric)} ${text(metric)}`);
    const asked = targets_text(plan.at("meet"));
    return [
      {
        name: answer.exists ? "Meets the targets" : "Nothing meets the targets; nearest",
        text: shown.exists ? changes(shown) : "none",
        note: [list(targets), asked === "" ? "" : `asked: ${asked}`].filter((one) => one !== "").join("; "),
        mark: answer.exists ? "good" : "bad",
      },
      {
        name: title_of(this.objective),
        text: shown.exists ? text(this.objective) : "\u2013",
        note: plan.at("purchase").text ?? "",
      },
      this.certainty(shown),
    ];
  }

  private certainty(shown: Place): Fact {
    const { plan } = this;
    const seeds = `${show(shown.at("replications").number)} seeds`;
    const rivals = plan.at("rivals").items.length;
    const share = plan.at("model", "finalists", 0, "meets_share").number;
    const draws = plan.at("model", "draws").number;
    const machines = share === null ? "" : `${show(100 * share)} % of ${show(draws)} plausible machines`;
    const name = "How sure";
    if (rivals > 0)
      return { name, text: `${rivals} rivals`, note: `cannot be told apart over ${seeds}; ${machines}` };
    if (plan.at("clear").value === false) return { name, text: "one seed", note: "chance is not excluded" };
    const beyond = `over ${seeds} every target is met beyond its interval`;
    if (share === null) return { name, text: seeds, note: beyond };
    return {
      name,
      text: machines,
      note: [beyond, this.plausible_text()].filter((one) => one !== "").join("; "),
    };
  }

  // Returns the answer's ranges on most of the plausible machines.
  private plausible_text(): string {
    const ranges = this.plan.at("model", "finalists", 0, "model_intervals");
    const texts = this.plan.at("meet").entries.flatMap(([metric]) => {
      const [low, high] = [ranges.at(metric, "low").number, ranges.at(metric, "high").number];
      if (low === null || high === null) return [];
      const { scale, symbol } = unit_of(metric);
      return [`${title_of(metric)} ${with_unit(low * scale, "")} to ${with_unit(high * scale, symbol)}`];
    });
    return texts.length > 0 ? `80 % of the machines have ${list(texts)}` : "";
  }

  card(title: string): void {
    const figure = this.choices();
    answer_card(this.context, {
      title,
      facts: this.facts(),
      figure: figure
        ? { ...figure, id: id_of("answer", this.named.name), controls: null, wide: false }
        : null,
      load: MachineLoad.of(this.plan.at("machine")),
      of: this.answer.exists ? "the answer" : "the nearest",
    });
  }

  // Returns a figure of all judged configurations over two metrics of the plan, which highlights the answer
  // and the Pareto front.
  choices(): Figure | null {
    const { context, plan, answer } = this;
    const others = this.metrics.filter((metric) => metric !== this.objective);
    if (others.length === 0) return null;
    const metric = context.chosen("metric", others);
    const saturated = (candidate: Place) => candidate.at("reason").text === "unstable";
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
      const span = span_of(up, this.half(candidate, metric));
      return left === null || up === null
        ? []
        : [{ x: left, y: up, title: changes(candidate), key, span, saturated: saturated(candidate) }];
    };
    const names = [...new Set(shown.map(changed_policy))];
    const clouds: Cloud[] = names.map((name) => ({
      name: name === "" ? "configurations" : name,
      style: context.report.palette.of(name),
      dots: shown.flatMap((candidate, key) =>
        changed_policy(candidate) === name ? dot(candidate, key) : [],
      ),
    }));
    const ink = { light: "#1a1d23", dark: "#e6e8ec", dash: "solid" as const, symbol: "circle" };
    const ordered = [...front].sort(
      (a, b) => (mean(a, this.objective).number ?? 0) - (mean(b, this.objective).number ?? 0),
    );
    clouds.push({
      name: "Pareto front",
      style: ink,
      dots: ordered
        .filter((candidate) => !saturated(candidate))
        .flatMap((candidate) => dot(candidate, -1).map((one) => ({ ...one, span: null }))),
      line: "steps",
      hollow: true,
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
      note: `Every configuration that was simulated, with its interval; the diamond is the answer.${left_out > 0 ? ` ${left_out} of them are left out at regular intervals.` : ""}`,
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
        {
          name: title_of(metric),
          unit: y.symbol,
          log: spans_decades(values.filter((one) => !one.saturated).map((one) => one.y)),
        },
        { limit: levels_of(plan.at("meet"), metric).map(({ name, value }) => ({ name, y: value })) },
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
        if (found) panel.show(changes(found), found.at("command").text ?? "No command reproduces it.");
      },
    };
  }

  // Returns a figure of the effect of prices on the answer's objective.
  prices(): Figure | null {
    const items = this.plan.at("prices").items;
    const from = scaled(mean(this.answer, this.objective), this.objective);
    if (items.length === 0 || from === null) return null;
    const unit = unit_of(this.objective);
    return this.tornado_of("prices", "If prices change", title_of(this.objective), unit.symbol, from, {
      note: "The answer's cost under other prices. Red: another configuration would be cheaper.",
      rows: items.map((item) => ({
        name: item.at("what").text ?? "",
        value: scaled(item.at("objective"), this.objective) ?? from,
        note:
          item.at("still_best").value === false
            ? `then best: ${item.at("best").texts.map(field_title).join(", ")}`
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
          words(item.at("best").texts.map(field_title).join(", ")),
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
    more: { note: string; rows: Gust[]; table: () => Table; controls?: Node; target?: Level },
  ): Figure {
    const rows = [...more.rows].sort((a, b) => Math.abs(b.value - from) - Math.abs(a.value - from));
    return {
      id,
      title,
      note: more.target ? `${more.note} Dashed: ${more.target.name}.` : more.note,
      says: `${name} is ${show(from)} ${unit} at the answer; ${list(rows.map((row) => `${row.name}: ${show(row.value)} ${unit}`))}.`,
      height: tornado_height(rows.length),
      controls: more.controls,
      option: tornado(this.context.theme, from, rows, {
        name,
        unit,
        here: "answer",
        target: more.target,
      }),
      table: more.table,
    };
  }

  // Returns the interval of a change against the answer. Because the seeds are paired, this interval is
  // narrower than that of the value itself.
  private change_span(item: Place, metric: string, from: number): Span | null {
    const [low, high] = [0, 1].map((end) => scaled(item.at("change", metric, "interval", end), metric));
    return typeof low === "number" && typeof high === "number"
      ? { low: from + low, high: from + high }
      : null;
  }

  // Returns a figure of the neighbours of the answer (marginal), or of the answer under other loads
  // (robustness).
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
    const names = items.map((item) => field_title(item.at("what").text ?? ""));
    const rows = items.flatMap((_, at): Gust[] => {
      const candidate = candidates[at]!;
      const value = scaled(mean(candidate, metric), metric);
      const verdict = candidate.at("verdict").text ?? "";
      const paint = verdict === "misses" ? theme.bad : verdict === "unclear" ? theme.quiet : theme.accent;
      const span = this.change_span(items[at]!, metric, from) ?? span_of(value, this.half(candidate, metric));
      return value === null
        ? []
        : [{ name: names[at]!, value, note: verdict_text(candidate), colour: paint, span }];
    });
    return this.tornado_of(key, title, title_of(metric), unit.symbol, from, {
      note,
      rows,
      target: levels_of(this.plan.at("meet"), metric)[0],
      controls: this.context.select("Metric", `${key}_metric`, this.metrics, metric, title_of),
      table: () => moves_table(items, this.metrics),
    });
  }

  draw(): void {
    this.context.figures(this.choices());
    this.answer_table();
    this.context.figures(
      this.moves(
        "marginal",
        "What to buy next",
        "The answer with a little more or less of one resource; whiskers are intervals of the change. Red: misses a target; grey: these runs do not show whether it meets the targets.",
      ),
      this.moves(
        "robustness",
        "If the load is another",
        "The answer under other traffic and prompts. Red: misses a target; grey: these runs do not show whether it meets the targets.",
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

// Draws the cards of all plans on the overview.
export function plan_cards(context: Context, titled: boolean): void {
  for (const one of context.report.after.plans) new PlanPage(context, one).card(titled ? one.name : "");
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
