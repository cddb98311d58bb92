// Charts one series of every run over simulated time.
import { lines } from "../charts/lines.ts";
import { thin } from "../charts/common.ts";
import type { Context } from "../context.ts";
import type { Run } from "../data.ts";
import type { Figure } from "../figure.ts";
import { list } from "../format.ts";
import { cell } from "../table.ts";
import { title_of, unit_of, type Unit } from "../quantities.ts";

// Returns the figure; null if no run has the series.
export function over_time(
  context: Context,
  all: readonly Run[],
  id: string,
  name: string,
  title: string,
  options: { unit?: Unit; max?: number; note?: string; quantity?: string } = {},
): Figure | null {
  const runs = all.filter((run) => run.place.at("series", name).numbers.some((value) => value !== null));
  if (runs.length === 0) return null;
  const unit = options.unit ?? unit_of(name);
  const rows = Math.max(...runs.map((run) => run.place.at("series", name).items.length));
  return {
    id,
    title,
    note: options.note,
    says: `${title}, a line each for ${list(runs.map((run) => run.label))}.`,
    height: 240,
    option: lines(
      context.theme,
      runs.map((run) => {
        const times = run.place.at("series", "time_s").numbers;
        const values = run.place.at("series", name).numbers;
        const points = times.flatMap((time, at): [number, number][] => {
          const value = values[at] ?? null;
          return time === null || value === null ? [] : [[time, value * unit.scale]];
        });
        return { name: run.label, style: run.style, points: thin(points, 250) };
      }),
      {
        x: { name: "simulated time", unit: "s" },
        y: { name: options.quantity ?? title_of(name), unit: unit.symbol, min: 0, max: options.max },
      },
    ),
    table: () => ({
      columns: runs.flatMap((run) => [
        { name: `${run.label}, time`, unit: "s" },
        { name: run.label, unit: unit.symbol },
      ]),
      rows: Array.from({ length: rows }, (_, at) =>
        runs.flatMap((run) => [
          cell(run.place.at("series", "time_s", at)),
          cell(run.place.at("series", name, at), unit),
        ]),
      ),
    }),
  };
}
