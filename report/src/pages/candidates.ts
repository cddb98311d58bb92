// Converts the configurations that a plan has judged into texts and table rows.
import { brief } from "../format.ts";
import type { Place } from "../place.ts";
import { metric_cell, words, type Cell, type Table } from "../table.ts";
import { field_title, title_of, unit_of } from "../quantities.ts";

export const changes = (candidate: Place): string =>
  candidate.at("changes").texts.map(field_title).join(", ");
export const mean = (candidate: Place, metric: string): Place =>
  candidate.at("metrics").metric(metric).at("mean");
export const scaled = (place: Place, metric: string): number | null =>
  place.number === null ? null : place.number * unit_of(metric).scale;

// Returns half the width of the printed interval, which need not be centred on the mean.
export function half_width(candidate: Place, metric: string): number | null {
  const interval = candidate.at("metrics").metric(metric).at("interval");
  const [from, to] = [interval.at(0).number, interval.at(1).number];
  return from === null || to === null ? null : (to - from) / 2;
}

// Returns "meets", or what is missed: "misses p99 TTFT", "may miss p99 TTFT".
export function verdict_text(candidate: Place): string {
  const verdict = (candidate.at("verdict").text ?? "").replace("cannot_run", "cannot run");
  const reason = candidate.at("reason").text;
  if (reason === null || reason === "") return verdict;
  if (reason === "unstable") return "saturated";
  if (reason === "stable") return "may be saturated";
  return `${verdict === "unclear" ? "may miss" : verdict} ${title_of(reason)}`;
}

function candidate_cells(candidate: Place, metrics: readonly string[]): Cell[] {
  return [
    ...metrics.map((metric) => metric_cell(mean(candidate, metric), metric, half_width(candidate, metric))),
    words(verdict_text(candidate)),
  ];
}

// Returns the fields that a configuration sets, from "path=value".
function fields(candidate: Place): Map<string, string> {
  return new Map(
    candidate.at("changes").texts.map((text) => {
      const at = text.indexOf("=");
      return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}

// Returns the cell of a field: for a list of tiers, their kinds; for a number, the number in the field's
// unit.
function field_cell(path: string, text: string | undefined): Cell {
  if (text === undefined) return words("\u2013");
  const number = Number(text);
  if (text.trim() !== "" && Number.isFinite(number)) return words(brief(number * unit_of(path).scale, 6));
  const kinds = [...text.matchAll(/"kind":"(\w+)"/g)].map((match) => match[1]!);
  return words(kinds.length > 0 ? kinds.join(" + ") : text);
}

// Returns a table of configurations with the fields in which they differ.
export function candidate_table(
  candidates: readonly Place[],
  metrics: readonly string[],
  commands: boolean,
): Table {
  const all = candidates.map(fields);
  const paths = [...new Set(all.flatMap((one) => [...one.keys()]))].filter(
    (path) => candidates.length === 1 || new Set(all.map((one) => one.get(path))).size > 1,
  );
  return {
    columns: [
      ...paths.map((path) => ({ name: field_title(path), unit: unit_of(path).symbol })),
      ...metrics.map((metric) => ({ name: title_of(metric), unit: unit_of(metric).symbol })),
      { name: "Verdict" },
      ...(commands ? [{ name: "Command" }] : []),
    ],
    rows: candidates.map((candidate, at) => [
      ...paths.map((path) => field_cell(path, all[at]!.get(path))),
      ...candidate_cells(candidate, metrics),
      ...(commands ? [words(candidate.at("command").text ?? "\u2013")] : []),
    ]),
  };
}

// Returns a table of the moves of a plan, each named by what it changes in the answer. Changes are paired by seed:
// their intervals are narrower than those of the values.
export function moves_table(items: readonly Place[], metrics: readonly string[]): Table {
  const changed = metrics.filter((metric) => items.some((item) => item.at("change").metric(metric).exists));
  const change = (item: Place, metric: string): Cell => {
    const value = item.at("change").metric(metric);
    const [from, to] = [value.at("interval", 0).number, value.at("interval", 1).number];
    return metric_cell(value.at("mean"), metric, from === null || to === null ? null : (to - from) / 2);
  };
  return {
    columns: [
      { name: "What" },
      ...changed.map((metric) => ({ name: `${title_of(metric)}, change`, unit: change_unit(metric) })),
      ...metrics.map((metric) => ({ name: title_of(metric), unit: unit_of(metric).symbol })),
      { name: "Verdict" },
    ],
    rows: items.map((item) => [
      words(field_title(item.at("what").text ?? "")),
      ...changed.map((metric) => change(item, metric)),
      ...candidate_cells(item.at("candidate"), metrics),
    ]),
  };
}

// Percentages differ by points.
const change_unit = (metric: string): string => unit_of(metric).symbol.replace(/^%$/, "points");
