// Titles, units and directions of quantities, read from the table that kvcap puts into the data.
import type { Place } from "./place.ts";

export interface Unit {
  symbol: string; // "": dimensionless
  scale: number; // shown value = JSON value * scale
}

interface Quantity extends Unit {
  title: string;
  better: number; // 1 if more is better, -1 if less is, 0 if neither
  real_only: boolean; // has no meaning for a bound, which cannot be built
}

export const ms_of_s: Unit = { symbol: "ms", scale: 1000 };

let table = new Map<string, Quantity>();
let endings: (Unit & { ending: string })[] = [];
let headline_metrics: string[] = [];
let overview_metrics: string[] = [];
let titles = new Map<string, string>();

const unit_at = (place: Place): Unit => ({
  symbol: place.at("unit").text ?? "",
  scale: place.at("scale").number ?? 1,
});

export function read_quantities(place: Place): void {
  table = new Map(
    place.at("names").entries.map(([name, row]) => [
      name,
      {
        ...unit_at(row),
        title: row.at("title").text ?? name,
        better: row.at("better").number ?? 0,
        real_only: row.at("real_only").value === true,
      },
    ]),
  );
  endings = place
    .at("endings")
    .items.map((row) => ({ ...unit_at(row), ending: row.at("ending").text ?? "" }));
  headline_metrics = place.at("headlines").texts;
  overview_metrics = place.at("overview").texts;
}

// Reads the titles of fields, of changes ("path=value") and of a plan's steps.
export function read_titles(place: Place): void {
  titles = new Map(place.entries.map(([raw, title]) => [raw, title.text ?? raw]));
}

// Returns the unit of a metric, or of a scenario's field, which follows from the end of its name.
export function unit_of(name: string): Unit {
  return table.get(name) ?? endings.find(({ ending }) => name.endsWith(ending)) ?? { symbol: "", scale: 1 };
}

export function title_of(name: string): string {
  return table.get(name)?.title ?? name.replaceAll("_", " ");
}

export function better(name: string): number {
  return table.get(name)?.better ?? 0;
}

export const is_real_only = (name: string): boolean => table.get(name)?.real_only ?? false;

// Returns the most important metrics.
// Returns a title with its unit, for lists: some titles differ by their units alone.
export const named = (name: string): string => {
  const { symbol } = unit_of(name);
  return symbol === "" ? title_of(name) : `${title_of(name)} (${symbol})`;
};
export const headlines = (): readonly string[] => headline_metrics;
// Returns the metrics of the overview's table: those that the terminal also shows, and a few more.
export const overview_rows = (): readonly string[] => overview_metrics;

const stored = "stored_bytes_";
// Returns the kinds of tiers, from near to far.
export const tiers = (): string[] =>
  [...table.keys()].filter((name) => name.startsWith(stored)).map((name) => name.slice(stored.length));
export const tier_title = (tier: string): string => title_of(stored + tier).replace("stored in ", "");

// Returns the title of a field or of a change of a field; if there is none, the end of the path.
export function field_title(path: string): string {
  return titles.get(path) ?? (path.includes("=") || path.includes(" ") ? path : short_path(path));
}

// Returns the end of a path, which identifies it: its last two names, and an index between them
// ("tiers.0.capacity_bytes").
function short_path(path: string): string {
  const parts = path.split(".");
  const names = /^\d+$/.test(parts.at(-2) ?? "") ? 3 : 2;
  return parts.slice(-names).join(".");
}
