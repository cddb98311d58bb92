// What a number is called and measured in, and which way is better: the table that kvcap puts into the data.
import type { Place } from "./place.ts";

export interface Unit {
  symbol: string; // "": a pure number
  scale: number; // the shown value is the JSON's times this
}

interface Quantity extends Unit {
  title: string;
  better: number; // 1 when more is better, -1 when less is, 0 when neither is
}

export const ms_of_s: Unit = { symbol: "ms", scale: 1000 };

let table = new Map<string, Quantity>();
let endings: (Unit & { ending: string })[] = [];
let headline_metrics: string[] = [];

const unit_at = (place: Place): Unit => ({
  symbol: place.at("unit").text ?? "",
  scale: place.at("scale").number ?? 1,
});

export function read_quantities(place: Place): void {
  table = new Map(
    place
      .at("names")
      .entries.map(([name, row]) => [
        name,
        { ...unit_at(row), title: row.at("title").text ?? name, better: row.at("better").number ?? 0 },
      ]),
  );
  endings = place
    .at("endings")
    .items.map((row) => ({ ...unit_at(row), ending: row.at("ending").text ?? "" }));
  headline_metrics = place.at("headlines").texts;
}

// Of a metric or, by the end of its name, of a field of a scenario.
export function unit_of(name: string): Unit {
  return table.get(name) ?? endings.find(({ ending }) => name.endsWith(ending)) ?? { symbol: "", scale: 1 };
}

export function title_of(name: string): string {
  return table.get(name)?.title ?? name.replaceAll("_", " ");
}

export function better(name: string): number {
  return table.get(name)?.better ?? 0;
}

// The metrics that most readers look at first.
export const headlines = (): readonly string[] => headline_metrics;

const stored = "stored_bytes_";
// Kinds of tiers, from near to far.
export const tiers = (): string[] =>
  [...table.keys()].filter((name) => name.startsWith(stored)).map((name) => name.slice(stored.length));
export const tier_title = (tier: string): string => title_of(stored + tier).replace("stored in ", "");

// A parameter of a sweep or plan by the end of its path, which is what tells it from the others.
export function short_path(path: string): string {
  const parts = path.split(".");
  return parts.length <= 2 ? path : parts.slice(-2).join(".");
}
