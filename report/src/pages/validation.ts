// Validation page: every simulated number with its published, measured or computed reference.
import { bands, bands_height, type Verdict } from "../charts/bands.ts";
import { most_marks } from "../charts/common.ts";
import { scatter, type Dot } from "../charts/scatter.ts";
import type { Context } from "../context.ts";
import { h } from "../dom.ts";
import type { Figure } from "../figure.ts";
import { brief, show } from "../format.ts";
import type { Place } from "../place.ts";
import { cell, draw_table, words, type Table } from "../table.ts";
import { published_figures } from "./published.ts";

interface Pair {
  check: Place;
  simulated: Place;
  reference: Place | null; // null: compared with a range
  at: number | null; // deviation in tolerances
}

const numbers_of = (place: Place): Place[] =>
  place.items.length > 0 ? place.items : place.number === null ? [] : [place];

// Returns the pairs of a check: each number with its own reference, or each number with the same range.
function pairs_of(check: Place): Pair[] {
  const simulated = numbers_of(check.at("simulated"));
  const references = numbers_of(check.at("reference"));
  const tolerance = check.at("tolerance").number ?? 0;
  const [low, high] = references.map((one) => one.number ?? 0);
  const is_range = references.length === 2 && (simulated.length !== 2 || (tolerance === 0 && low! < high!));
  if (is_range) {
    const middle = (low! + high!) / 2;
    const half = (high! - low!) / 2;
    return simulated.map((one) => ({
      check,
      simulated: one,
      reference: null,
      at: half > 0 && one.number !== null ? (one.number - middle) / half : null,
    }));
  }
  if (references.length !== simulated.length) return [];
  return simulated.map((one, index) => {
    const reference = references[index]!;
    const [a, b] = [one.number, reference.number];
    let at: number | null = null;
    if (a !== null && b !== null) {
      if (a === b) at = 0;
      else if (tolerance > 0 && b !== 0) at = (a / b - 1) / tolerance;
    }
    return { check, simulated: one, reference, at };
  });
}

const values = (place: Place): string => {
  const all = numbers_of(place);
  return all.length === 0 ? "\u2013" : all.map((one) => show(one.number, 4)).join("; ");
};

function dots(context: Context, suites: readonly string[], pairs: readonly Pair[]): Figure {
  const placed = pairs.filter((pair) => pair.at !== null).slice(0, most_marks);
  const rows: Verdict[] = placed.map(({ check, simulated, reference, at }) => ({
    row: suites.indexOf(check.at("suite").text ?? ""),
    at: at!,
    title: check.at("id").text ?? "",
    lines: [
      { name: check.at("what").text ?? "", text: "" },
      { name: "simulated", text: show(simulated.number, 4) },
      {
        name: "reference",
        text: reference
          ? show(reference.number, 4)
          : `${values(check.at("reference")).replace("; ", " to ")}`,
      },
      { name: "verdict", text: check.at("verdict").text ?? "" },
    ],
    verdict: check.at("verdict").text ?? "",
  }));
  const { theme } = context;
  return {
    id: "tolerances",
    title: "Simulated against its references",
    note: "One dot per number. Distances are relative errors divided by the check's tolerance, or positions in its range. A check's verdict is that of its worst number.",
    says: `${rows.length} numbers of ${suites.length} suites; ${rows.filter((row) => Math.abs(row.at) <= 1).length} within their tolerance.`,
    height: bands_height(suites.length),
    wide: true,
    key: [
      { name: "\u25cf inside", colour: theme.good },
      { name: "\u25b2 near", colour: theme.quiet },
      { name: "\u25c6 outside", colour: theme.bad },
    ],
    option: bands(theme, suites, rows),
    table: () => ({
      columns: [
        { name: "Check" },
        { name: "Suite" },
        { name: "Simulated" },
        { name: "Reference" },
        { name: "Distance in tolerances" },
        { name: "Verdict" },
      ],
      rows: placed.map(({ check, simulated, reference, at }) => [
        words(check.at("id").text ?? ""),
        words(check.at("suite").text ?? ""),
        cell(simulated),
        reference ? cell(reference) : words(values(check.at("reference")).replace("; ", " to ")),
        { text: show(at), value: at, scale: 1 },
        words(check.at("verdict").text ?? ""),
      ]),
    }),
  };
}

// Returns a figure of simulated numbers over their references on equal axes. On the diagonal, both are equal.
function references(context: Context, suite: string, pairs: readonly Pair[]): Figure | null {
  const placed = pairs
    .filter((pair) => (pair.reference?.number ?? 0) > 0 && (pair.simulated.number ?? 0) > 0)
    .slice(0, most_marks);
  if (placed.length < 2) return null;
  const of = (verdict: string): Dot[] =>
    placed.flatMap(({ check, simulated, reference }, key) =>
      check.at("verdict").text === verdict
        ? [
            {
              x: reference!.number!,
              y: simulated.number!,
              title: check.at("what").text ?? check.at("id").text ?? "",
              key,
            },
          ]
        : [],
    );
  const { theme } = context;
  const style = (colour: string, symbol: string) => ({
    light: colour,
    dark: colour,
    dash: "solid" as const,
    symbol,
  });
  return {
    id: "references",
    title: `Simulated against reference: ${suite}`,
    note: "Numbers with different units share the axes. On the line, simulation and reference are equal.",
    says: `${placed.length} numbers of ${suite}, simulated against reference.`,
    height: 420,
    option: scatter(
      theme,
      [
        { name: "inside", style: style(theme.good, "circle"), dots: of("inside") },
        { name: "near", style: style(theme.quiet, "triangle"), dots: of("near") },
        { name: "outside", style: style(theme.bad, "diamond"), dots: of("outside") },
      ],
      { name: "reference", unit: "its own unit", log: true },
      { name: "simulated", unit: "the same", log: true },
      { diagonal: true },
    ),
    table: () => ({
      columns: [{ name: "Check" }, { name: "Reference" }, { name: "Simulated" }, { name: "Verdict" }],
      rows: placed.map(({ check, simulated, reference }) => [
        words(check.at("id").text ?? ""),
        cell(reference!),
        cell(simulated),
        words(check.at("verdict").text ?? ""),
      ]),
    }),
  };
}

// Returns a figure of measured and predicted restorations, case by case; null if there are none.
function performed(context: Context, checks: readonly Place[]): Figure | null {
  const groups = checks
    .map((check) => ({ name: check.at("cases_of").text ?? "", check, cases: check.at("cases").items }))
    .filter(({ name, cases }) => name !== "" && cases.length > 0);
  if (groups.length === 0) return null;
  const { theme } = context;
  const total = groups.reduce((sum, group) => sum + group.cases.length, 0);
  return {
    id: "performed",
    title: "Predicted against performed: the twin",
    note: "One dot per case: a restoration that a machine performed, and the simulator's prediction from that machine's profile. On the line, both are equal.",
    says: `${total} cases of ${groups.length} policies, predicted against measured.`,
    height: 420,
    option: scatter(
      theme,
      groups.map((group) => ({
        name: group.name,
        style: context.report.palette.of(group.name),
        dots: group.cases.map((one, key) => ({
          x: one.at("reference").number ?? 0,
          y: one.at("simulated").number ?? 0,
          title: group.check.at("what").text ?? "",
          key,
        })),
      })),
      { name: "measured", unit: "s", log: true },
      { name: "predicted", unit: "s", log: true },
      { diagonal: true },
    ),
    table: () => ({
      columns: [{ name: "Policy" }, { name: "Measured", unit: "s" }, { name: "Predicted", unit: "s" }],
      rows: groups.flatMap((group) =>
        group.cases.map((one) => [words(group.name), cell(one.at("reference")), cell(one.at("simulated"))]),
      ),
    }),
  };
}

function summary_table(place: Place): Table {
  const verdicts = ["inside", "near", "outside", "not comparable"];
  return {
    columns: [{ name: "Suite" }, ...verdicts.map((name) => ({ name })), { name: "Worst" }],
    rows: place
      .at("summary")
      .entries.map(([suite, counts]) => [
        words(suite),
        ...verdicts.map((name) => cell(counts.at(name), undefined, 0)),
        words(counts.at("worst").text ?? "\u2013"),
      ]),
  };
}

// Returns the accuracy that kvcap states for a check's number: "equal", "within 10 %", "in this range" or "none".
function accuracy_of(check: Place): string {
  const references = numbers_of(check.at("reference"));
  const simulated = numbers_of(check.at("simulated"));
  const tolerance = check.at("tolerance").number ?? 0;
  if (references.length === 0) return "none: no reference";
  const is_range = references.length === 2 && simulated.length === 1;
  const wanted = is_range
    ? `in this range${tolerance > 0 ? `, or ${show(100 * tolerance)} % outside it` : ""}`
    : tolerance > 0
      ? `within ${show(100 * tolerance)} %`
      : "equal";
  return check.at("promised").value === false ? `none; judged by: ${wanted}` : wanted;
}

function check_table(checks: readonly Place[]): Table {
  return {
    columns: [
      { name: "Check" },
      { name: "What" },
      { name: "Simulated" },
      { name: "Reference" },
      { name: "Stated accuracy" },
      { name: "Verdict" },
      { name: "Reason, and what was tuned" },
    ],
    rows: checks.map((check) => [
      words(check.at("id").text ?? ""),
      words(check.at("what").text ?? ""),
      words(values(check.at("simulated"))),
      words(values(check.at("reference"))),
      words(accuracy_of(check)),
      {
        ...words(check.at("verdict").text ?? ""),
        mark: check.at("verdict").text === "outside" ? "bad" : undefined,
      },
      words(
        [
          check.at("reason").text ?? "",
          check.at("tuned").texts.length > 0 ? `tuned: ${check.at("tuned").texts.join(", ")}` : "",
        ]
          .filter((text) => text !== "")
          .join("; "),
      ),
    ]),
  };
}

export function validation(context: Context): void {
  const { validations } = context.report.after;
  const names = validations.map(({ name }) => name);
  const chosen = context.chosen("validation", names);
  const place = validations.find(({ name }) => name === chosen)?.place;
  if (!place) return;
  const checks = place.at("checks").items;
  const suites = [...new Set(checks.map((check) => check.at("suite").text ?? ""))];
  const options = ["", ...suites];
  const suite = context.chosen("suite", options, "");
  const verdicts = ["", "inside", "near", "outside", "not comparable"];
  const verdict = context.chosen("verdict", verdicts, "");
  const all = (value: string) => (value === "" ? "all" : value);
  context.add(
    h(
      "div",
      { class: "bar" },
      names.length > 1 ? context.select("Validation", "validation", names, chosen) : null,
      context.select("Suite", "suite", options, suite, all),
      context.select("Verdict", "verdict", verdicts, verdict, all),
    ),
    draw_table(summary_table(place), "Checks by suite and verdict"),
  );
  const shown = checks.filter(
    (check) =>
      (suite === "" || check.at("suite").text === suite) &&
      (verdict === "" || check.at("verdict").text === verdict),
  );
  const pairs = shown.flatMap(pairs_of);
  context.figures(
    dots(context, suite === "" ? suites : [suite], pairs),
    references(context, suite === "" ? "all suites" : suite, pairs),
    performed(context, shown),
    ...published_figures(context, shown),
  );
  context.add(h("h2", {}, "Every check"), draw_table(check_table(shown), `${brief(shown.length, 6)} checks`));
}
