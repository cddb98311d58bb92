// Figures of a trace's reuse distances, in tokens and in time.
import { bars, bars_height } from "../charts/bars.ts";
import type { Context } from "../context.ts";
import type { Named } from "../data.ts";
import { id_of, type Figure } from "../figure.ts";
import { list, show } from "../format.ts";
import { cell, words } from "../table.ts";

const ranks = ["median", "p90", "p99", "max"];

export function reuse_figures(context: Context, { name, place }: Named): Figure[] {
  const kinds: [string, string, string][] = [
    [
      "tokens",
      "tokens",
      "Tokens computed between two uses of the same tokens: the size that an LRU cache needs.",
    ],
    ["s", "s", "Time from one use of tokens to their next use."],
  ];
  return kinds.flatMap(([suffix, unit, note]): Figure[] => {
    const shown = ranks.filter((rank) => place.at(`${rank}_reuse_distance_${suffix}`).number !== null);
    const at = (rank: string) => place.at(`${rank}_reuse_distance_${suffix}`);
    if (shown.length === 0) return [];
    return [
      {
        id: id_of("reuse", suffix, name),
        title: `Reuse distance in ${suffix === "s" ? "time" : "tokens"}: ${name}`,
        note,
        says: `Reuse distance of ${name}: ${list(shown.map((rank) => `${rank} ${show(at(rank).number)} ${unit}`))}.`,
        height: bars_height(shown.length, 1, false),
        option: bars(
          context.theme,
          shown,
          [{ name: "reuse distance", values: shown.map((rank) => at(rank).number) }],
          {
            name: "reuse distance",
            unit,
            stack: false,
          },
        ),
        table: () => ({
          columns: [{ name: "Of all reuses" }, { name: "distance", unit }],
          rows: shown.map((rank) => [words(rank), cell(at(rank))]),
        }),
      },
    ];
  });
}
