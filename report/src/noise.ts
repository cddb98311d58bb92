// Decides which runs are significantly better: by their paired difference if it is known, otherwise by the
// runs' own intervals.
import { half_width, type Run } from "./data.ts";
import type { Place } from "./place.ts";

// Returns 1 if the first run's metric is significantly larger, -1 if the second run's metric is, and 0 if the
// difference is not significant.
export function larger(differences: readonly Place[], metric: string, one: Run, other: Run): -1 | 0 | 1 {
  const paired = differences.find((each) => {
    const names = [each.at("setting").text, each.at("against").text];
    return each.at("metric").text === metric && names.includes(one.label) && names.includes(other.label);
  });
  if (paired) {
    const [low, high] = [paired.at("interval", 0).number, paired.at("interval", 1).number];
    if (low === null || high === null || (low <= 0 && high >= 0)) return 0;
    return low > 0 === (paired.at("setting").text === one.label) ? 1 : -1;
  }
  const [a, b] = [one, other].map((run) => run.place.at("metrics").metric(metric).number);
  const [wide, wider] = [half_width(one, metric), half_width(other, metric)];
  if (a === null || b === null || a === undefined || b === undefined) return 0;
  if (wide === null || wider === null || Math.abs(a - b) <= Math.hypot(wide, wider)) return 0;
  return a > b ? 1 : -1;
}

// Returns the best runs: each is significantly better than every run that is not returned. Empty if there is
// no such group.
export function best_of(
  differences: readonly Place[],
  metric: string,
  sign: number,
  runs: readonly Run[],
): Run[] {
  const value = (run: Run) => run.place.at("metrics").metric(metric).number ?? NaN;
  const sorted = [...runs].sort((a, b) => sign * (value(b) - value(a)));
  for (let count = 1; count < sorted.length; ++count) {
    const [first, rest] = [sorted.slice(0, count), sorted.slice(count)];
    if (first.every((a) => rest.every((b) => larger(differences, metric, a, b) === sign))) return first;
  }
  return [];
}

// True iff requests arrive faster than the run serves them.
export const is_saturated = (run: Run): boolean =>
  run.place.at("metrics", "stable", "verdict").text === "saturated";
