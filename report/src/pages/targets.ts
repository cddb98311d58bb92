// Targets: the bounds that a plan, a capacity or a scenario sets on metrics, as lines of charts and as text.
import { with_unit } from "../charts/common.ts";
import type { Place } from "../place.ts";
import { title_of, unit_of } from "../quantities.ts";

export interface Level {
  name: string;
  value: number; // in the metric's unit on screen
}

// Returns the bounds of a metric in {metric: {min, max}}.
export function levels_of(meet: Place, metric: string): Level[] {
  const unit = unit_of(metric);
  return (["max", "min"] as const).flatMap((end) => {
    const bound = meet.at(metric, end).number;
    if (bound === null) return [];
    const value = bound * unit.scale;
    return [
      { name: `target ${end === "max" ? "\u2264" : "\u2265"} ${with_unit(value, unit.symbol)}`, value },
    ];
  });
}

// Returns "p99 TTFT \u2264 500 ms".
export function targets_text(meet: Place): string {
  return meet.entries
    .flatMap(([metric]) =>
      levels_of(meet, metric).map(({ name }) => `${title_of(metric)} ${name.replace("target ", "")}`),
    )
    .join(", ");
}

// Returns the bound that a scenario's objectives set on TTFT or TPOT, for a p99 or a distribution of this
// latency; null if there is none.
export function objective_of(scenario: Place, metric: string): Level | null {
  const key = /^(p99_)?ttft_ms$/.test(metric) ? "ttft_ms" : /^(p99_)?tpot_ms$/.test(metric) ? "tpot_ms" : "";
  const value = key === "" ? null : scenario.at("slo", key).number;
  return value === null || value <= 0 ? null : { name: `target \u2264 ${with_unit(value, "ms")}`, value };
}
