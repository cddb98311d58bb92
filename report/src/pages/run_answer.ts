// The answer of a comparison or a run: which settings meet the targets, their prices, and the certainty.
import { bars, bars_height } from "../charts/bars.ts";
import { colour, with_unit } from "../charts/common.ts";
import { span_of } from "../charts/spans.ts";
import type { Context } from "../context.ts";
import { half_width, plausible, type Run } from "../data.ts";
import type { Figure } from "../figure.ts";
import { list, show, show_interval } from "../format.ts";
import { is_saturated } from "../noise.ts";
import { metric_cell, words } from "../table.ts";
import type { Fact } from "./answer.ts";
import { objective_of } from "./targets.ts";

const tail = "p99_ttft_ms";
const bounded = [tail, "p99_tpot_ms"];
const hourly = "cost.usd_per_hour";

type Verdict = "meets" | "unclear" | "misses" | "saturated";

const value = (run: Run, metric: string): number | null => run.place.at("metrics").metric(metric).number;

// Returns whether a run meets its scenario's objectives; unclear if a target lies within a metric's interval
// or if the run is too short to show stability.
function verdict_of(run: Run): Verdict {
  if (is_saturated(run)) return "saturated";
  const undecided = run.place.at("metrics", "stable", "verdict").text === "undecided";
  let verdict: Verdict = undecided ? "unclear" : "meets";
  for (const metric of bounded) {
    const bound = objective_of(run.place.at("scenario"), metric)?.value;
    const found = value(run, metric);
    if (bound === undefined || found === null) continue;
    const half = half_width(run, metric) ?? 0;
    if (found - half > bound) return "misses";
    if (found + half > bound) verdict = "unclear";
  }
  return verdict;
}

function targets_of(run: Run): string {
  return bounded
    .flatMap((metric) => {
      const level = objective_of(run.place.at("scenario"), metric);
      const name = metric === tail ? "p99 TTFT" : "p99 TPOT";
      return level ? [`${name} \u2264 ${with_unit(level.value, "ms")}`] : [];
    })
    .join(", ");
}

function meeting(real: readonly Run[]): Fact {
  const asked = targets_of(real[0]!);
  const by = (verdict: Verdict) =>
    real.filter((run) => verdict_of(run) === verdict).map(({ label }) => label);
  if (asked === "") {
    const stuck = by("saturated");
    return stuck.length > 0
      ? { name: "Saturated", text: list(stuck), mark: "bad" }
      : { name: "Serves the load", text: list(real.map(({ label }) => label)) };
  }
  const others = (["unclear", "misses", "saturated"] as const)
    .map((verdict) => [verdict === "misses" ? "miss it" : verdict, by(verdict)] as const)
    .filter(([, labels]) => labels.length > 0)
    .map(([verdict, labels]) => `${verdict}: ${list(labels)}`);
  const meets = by("meets");
  const unclear = by("unclear");
  const note = [`asked: ${asked}`, ...(meets.length > 0 ? others : others.slice(unclear.length > 0 ? 1 : 0))];
  if (meets.length > 0)
    return { name: "Meets the targets", text: list(meets), note: note.join("; "), mark: "good" };
  if (unclear.length > 0)
    return {
      name: "May meet the targets (these runs are inconclusive)",
      text: list(unclear),
      note: note.join("; "),
    };
  return { name: "Meets the targets", text: "none", note: note.join("; "), mark: "bad" };
}

function price(real: readonly Run[]): Fact[] {
  const prices = real.flatMap((run) => {
    const cost = value(run, hourly);
    return cost === null
      ? []
      : [{ label: run.label, cost, text: show_interval(cost, half_width(run, hourly)) }];
  });
  if (prices.length === 0) return [];
  const costs = [...new Set(prices.map(({ text }) => text))];
  if (costs.length === 1)
    return [{ name: "Price", text: `${costs[0]} $/h`, note: real.length > 1 ? "each" : "" }];
  const [least, ...rest] = [...prices].sort((a, b) => a.cost - b.cost);
  const most = rest.at(-1)!;
  return [
    {
      name: "Price",
      text: `${least!.text} to ${most.text} $/h`,
      note: prices.map(({ label, text }) => `${label} ${text}`).join(", "),
    },
  ];
}

function certainty(real: readonly Run[]): Fact {
  const run = real[0]!;
  const runs = run.place.at("scenario", "replications").number ?? 1;
  const undecided = real.filter((one) => one.place.at("metrics", "stable", "verdict").text === "undecided");
  const text = runs > 1 ? `${show(runs)} replications` : "one run";
  const note =
    undecided.length > 0
      ? "too short to tell whether the load is served"
      : runs > 1
        ? "intervals of 95 %"
        : half_width(run, tail) === null
          ? "chance is not excluded"
          : "intervals from its batches";
  return { name: "How sure", text, note, mark: undecided.length > 0 ? "bad" : undefined };
}

export function answer_facts(runs: readonly Run[]): Fact[] {
  const bought = runs.filter((run) => !run.bound);
  const real = bought.length > 0 ? bought : runs;
  return [meeting(real), ...price(real), certainty(real)];
}

// Returns a note that explains the intervals of a metric that the runs have.
export function intervals_note(runs: readonly Run[], metric: string): string {
  const chance = runs.some((run) => half_width(run, metric) !== null);
  const machines = runs.some((run) => plausible(run, metric) !== null);
  return [
    chance ? "Whiskers are 95 % intervals of chance." : "",
    machines ? "Bands cover 80 % of the plausible machines." : "",
  ]
    .join(" ")
    .trim();
}

// Returns a figure of the p99 TTFT of every setting, with the target. Saturated settings, which would flatten
// the others, are only named in the figure's note.
export function tail_figure(context: Context, all: readonly Run[]): Figure | null {
  const known = all.filter((run) => value(run, tail) !== null);
  const served = known.filter((run) => !is_saturated(run));
  const shown = served.length > 0 ? served : known;
  if (shown.length === 0) return null;
  const left_out = known.filter((run) => !shown.includes(run));
  const texts = (runs: readonly Run[]) =>
    list(runs.map((run) => `${run.label} ${with_unit(value(run, tail), "ms")}`));
  return {
    id: "tail",
    title: "p99 TTFT",
    note:
      left_out.length > 0
        ? `Saturated, so their latencies grow as long as the run lasts: ${texts(left_out)}.`
        : intervals_note(shown, tail),
    says: `p99 TTFT: ${texts(known)}.`,
    height: bars_height(shown.length, 1, false) + 14,
    option: bars(
      context.theme,
      shown.map((run) => run.label),
      [
        {
          name: "p99 TTFT",
          values: shown.map((run) => value(run, tail)),
          colours: shown.map((run) => colour(run.style, context.theme)),
        },
      ],
      {
        name: "p99 TTFT",
        unit: "ms",
        stack: false,
        spans: shown.map((run) => span_of(value(run, tail), half_width(run, tail))),
        plausible: shown.map((run) => plausible(run, tail)),
        target: objective_of(shown[0]!.place.at("scenario"), tail) ?? undefined,
      },
    ),
    table: () => ({
      columns: [{ name: "Setting" }, { name: "p99 TTFT", unit: "ms" }, { name: "Targets" }],
      rows: known.map((run) => [
        words(run.label),
        metric_cell(run.place.at("metrics").metric(tail), tail, half_width(run, tail)),
        words(verdict_of(run)),
      ]),
    }),
  };
}
