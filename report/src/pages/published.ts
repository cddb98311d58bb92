// The published figures of a validation: one chart per figure, with the published and the simulated numbers.
import { scatter, spans_decades, type Cloud, type Dot } from "../charts/scatter.ts";
import type { Context } from "../context.ts";
import { policy_of } from "../data.ts";
import { id_of, type Figure } from "../figure.ts";
import { show } from "../format.ts";
import type { Place } from "../place.ts";
import type { Style } from "../theme.ts";
import { cell, words } from "../table.ts";

interface Point {
  place: Place;
  check: string;
  series: string;
  x: number; // a number, or the index of a case
  y: number;
  published: number[]; // one number, the two ends of a range, or none
}

interface Curves {
  x_axis: string;
  cases: string[] | null; // names of the cases on the x axis; null: numbers
  points: Point[];
}

const symbols = [
  { name: "circle", text: "\u25cf" },
  { name: "triangle", text: "\u25b2" },
  { name: "diamond", text: "\u25c6" },
  { name: "rect", text: "\u25a0" },
];

// Returns the points of one figure.
function curves_of(places: readonly { check: Place; point: Place }[]): Curves {
  const are_numbers = places.every(({ point }) => point.at("x").number !== null);
  const name = ({ point }: { point: Place }) => point.at("x").text ?? show(point.at("x").number);
  const cases = are_numbers ? null : [...new Set(places.map(name))];
  const points = places.flatMap((each): Point[] => {
    const { check, point } = each;
    const y = point.at("simulated").number;
    if (y === null) return [];
    const published = point.at("published");
    return [
      {
        place: point,
        check: check.at("id").text ?? "",
        series: point.at("series").text ?? "",
        x: cases ? cases.indexOf(name(each)) : point.at("x").number!,
        y,
        published: [published, ...published.items].flatMap((one) => one.number ?? []),
      },
    ];
  });
  return {
    x_axis: places[0]!.check.at("curve", "x_axis").text ?? "",
    cases,
    points,
  };
}

const dot = (x: number, y: number, title: string): Dot => ({
  x,
  y,
  title,
  key: -1,
});

// Returns the outline of a published range. A check gives one range for all its points of a policy.
function outline(points: readonly Point[]): Dot[] {
  const xs = points.map((point) => point.x);
  const [low, high] = points[0]!.published as [number, number];
  const [from, to] = [Math.min(...xs), Math.max(...xs)];
  return [
    [from, low],
    [to, low],
    [to, high],
    [from, high],
    [from, low],
  ].map(([x, y]) => dot(x!, y!, ""));
}

function grouped<T>(items: readonly T[], key: (item: T) => string): T[][] {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(key(item), [...(groups.get(key(item)) ?? []), item]);
  return [...groups.values()];
}

// Returns the symbol of each series: one per variant of a policy, or one per policy if there are no variants.
function symbols_of(series: readonly string[]): Map<string, (typeof symbols)[number]> {
  const variant = (name: string) => name.slice(policy_of(name).length) || name;
  const variants = [...new Set(series.map(variant))];
  return new Map(
    series.map((name) => [name, symbols[variants.indexOf(variant(name)) % symbols.length]!] as const),
  );
}

// Returns the marks of a figure: published ranges at the bottom, then published and simulated numbers.
function clouds_of({ points, cases }: Curves, style: (series: string) => Style): Cloud[] {
  const ranges = points.filter((point) => point.published.length === 2);
  const boxes = grouped(ranges, ({ check, series }) => `${check}\n${policy_of(series)}`).map(
    (range): Cloud => ({
      name: "range",
      style: { ...style(range[0]!.series), symbol: "none" },
      dots: outline(range),
      hollow: true,
      line: "dashed",
    }),
  );
  const in_order = [...points].sort((a, b) => a.x - b.x);
  const series = grouped(in_order, (point) => point.series);
  const marks = series.flatMap((same): Cloud[] => {
    const name = same[0]!.series;
    const exact = same.filter((point) => point.published.length === 1);
    return [
      {
        name,
        style: style(name),
        dots: exact.map(({ x, published }) => dot(x, published[0]!, `${name}, published`)),
        hollow: true,
        line: cases ? undefined : "dashed",
      },
      {
        name,
        style: style(name),
        dots: same.map(({ x, y }) => dot(x, y, `${name}, simulated`)),
        line: cases ? undefined : "solid",
      },
    ];
  });
  return [...boxes, ...marks.filter((cloud) => cloud.dots.length > 0)];
}

const range_text = (published: readonly number[]): string => published.map((one) => show(one)).join(" to ");

function figure_of(context: Context, title: string, y_axis: string, curves: Curves): Figure {
  const { points, x_axis, cases } = curves;
  const names = [...new Set(points.map((point) => point.series))];
  const symbol = symbols_of(names);
  const style = (name: string): Style => ({
    ...context.report.palette.of(policy_of(name)),
    symbol: symbol.get(name)!.name,
  });
  const log = !cases && spans_decades(points.map((point) => point.x));
  return {
    id: id_of("published", title, y_axis),
    title,
    note: "Hollow or dashed: published. Solid: simulated. Dashed box: published range.",
    says: `${y_axis} over ${x_axis}: ${points.length} simulated numbers of ${names.length} series and ${points.filter((point) => point.published.length > 0).length} that are published.`,
    height: 300,
    key: names.map((name) => ({
      name: `${symbol.get(name)!.text} ${name}`,
      colour: style(name)[context.theme.mode],
    })),
    option: scatter(
      context.theme,
      clouds_of(curves, style),
      { name: x_axis, unit: "", log },
      { name: y_axis, unit: "" },
      { categories: cases ?? undefined },
    ),
    table: () => ({
      columns: [{ name: "Series" }, { name: x_axis }, { name: "Simulated" }, { name: "Published" }],
      rows: points.map(({ place, series, published }) => [
        words(series),
        cell(place.at("x")),
        cell(place.at("simulated")),
        published.length === 1 ? cell(place.at("published")) : words(range_text(published) || "\u2013"),
      ]),
    }),
  };
}

// Returns a figure for every published figure that has at least two values of x and one published number.
export function published_figures(context: Context, checks: readonly Place[]): Figure[] {
  const places = checks.flatMap((check) =>
    check.at("curve", "points").items.map((point) => ({ check, point })),
  );
  const key = ({ point }: { point: Place }) => `${point.at("figure").text}\n${point.at("y_axis").text}`;
  const groups = grouped(places, key).sort(([a], [b]) =>
    key(a!).localeCompare(key(b!), "en", { numeric: true }),
  );
  return groups.flatMap((same) => {
    const curves = curves_of(same);
    const is_curve =
      new Set(curves.points.map((point) => point.x)).size > 1 &&
      curves.points.some((point) => point.published.length > 0);
    if (!is_curve) return [];
    const { point } = same[0]!;
    return [figure_of(context, point.at("figure").text ?? "", point.at("y_axis").text ?? "", curves)];
  });
}
