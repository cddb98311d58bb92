// Bar chart: horizontal bars of stacked parts, one row per policy, or of values side by side. The tooltip of
// a row appears wherever the pointer is in it.
import type { Theme } from "../theme.ts";
import {
  axis_name,
  base_option,
  long_times,
  row_tooltip,
  tip,
  with_unit,
  x_axis,
  y_axis,
  type TipRow,
} from "./common.ts";
import type { Option } from "./engine.ts";
import { across_rows, bands_across, possible, type Span } from "./spans.ts";

interface BarPart {
  name: string;
  values: (number | null)[]; // one per row
  colours?: string[]; // one per row, if rows are policies
  colour?: string; // one for all rows
}

interface BarsOptions {
  name: string;
  unit: string;
  stack: boolean;
  max?: number;
  spans?: (Span | null)[]; // intervals of the rows' values, or of their sums
  plausible?: (Span | null)[]; // their ranges on 80 % of the plausible machines
  target?: { name: string; value: number };
}

function sum(parts: readonly BarPart[], row: number): number {
  return parts.reduce((total, part) => total + (part.values[row] ?? 0), 0);
}

function row_tip(
  rows: readonly string[],
  parts: readonly BarPart[],
  hues: readonly string[],
  options: BarsOptions,
  row: number,
): HTMLElement {
  const span = options.spans?.[row];
  const lines: TipRow[] = parts.map((part, at) => ({
    name: part.name,
    text: with_unit(part.values[row] ?? null, options.unit),
    colour: part.colours?.[row] ?? hues[at],
  }));
  if (options.stack && parts.length > 1)
    lines.push({ name: "total", text: with_unit(sum(parts, row), options.unit) });
  if (span)
    lines.push({
      name: "95 % interval",
      text: `${with_unit(span.low, "")} to ${with_unit(span.high, options.unit)}`,
    });
  const range = options.plausible?.[row];
  if (range)
    lines.push({
      name: "80 % of plausible machines",
      text: `${with_unit(range.low, "")} to ${with_unit(range.high, options.unit)}`,
    });
  return tip(rows[row] ?? "", lines);
}

// The hues of parts: a single one needs no key.
const part_hues = (theme: Theme, count: number): string[] =>
  count === 1 ? [theme.accent] : theme.parts(count);

// Draws horizontal bars. With `stack`, parts are stacked, each in a hue; without it, they are side by side.
export function bars(
  theme: Theme,
  rows: readonly string[],
  parts: readonly BarPart[],
  wanted: BarsOptions,
): Option {
  const is_positive = parts.every((part) => part.values.every((value) => (value ?? 0) >= 0));
  const spans = wanted.spans?.map((span) => possible(span, is_positive ? 0 : -Infinity, wanted.max));
  const options = { ...wanted, spans };
  const hues = part_hues(theme, parts.length).map((hue, at) => parts[at]!.colour ?? hue);
  const many = parts.length > 1;
  const widest = Math.max(...rows.map((row) => row.length));
  const ends = rows.map((_, row) => Math.max(sum(parts, row), options.spans?.[row]?.high ?? 0));
  const ranges = (options.plausible ?? []).flatMap((range) => range?.high ?? []);
  const widest_range = Math.min(2 * Math.max(...ends), Math.max(0, ...ranges)); // wider ones are clipped
  const top = options.max ?? Math.max(...ends, widest_range, options.target?.value ?? 0);
  const edge = options.max ?? (options.target || ranges.length > 0 ? 1.05 * top : undefined);
  return base_option(theme, {
    grid: {
      left: 4,
      right: 24,
      top: options.target ? 22 : 8,
      bottom: 4,
      outerBoundsMode: "same",
      outerBoundsContain: "all",
    },
    xAxis: x_axis(axis_name(options.name, options.unit, top), theme, {
      min: is_positive ? 0 : undefined,
      max: edge,
      axis_label: { showMaxLabel: !options.target && ranges.length === 0, ...long_times(options.unit, top) },
    }),
    yAxis: y_axis("", theme, {
      categories: [...rows],
      inverse: true,
      axis_label: {
        color: theme.ink,
        width: Math.min(180, 8 * widest + 8),
        overflow: "truncate",
        interval: 0,
      },
    }),
    tooltip: row_tooltip(theme, (row) => row_tip(rows, parts, hues, options, row)),
    series: [
      ...parts.map((part, index) => ({
        type: "bar",
        name: part.name,
        stack: options.stack ? "all" : undefined,
        barMaxWidth: options.stack || !many ? 22 : 12,
        barGap: "15%",
        data: part.values.map((value, row) =>
          part.colours ? { value, itemStyle: { color: part.colours[row] } } : value,
        ),
        itemStyle: { color: hues[index], borderColor: theme.paper, borderWidth: options.stack ? 1 : 0 },
        ...(index === 0 ? target_line(theme, options, top) : {}),
      })),
      ...bands_across(theme, options.plausible ?? [], edge ?? Infinity),
      ...across_rows(theme, options.spans ?? []),
    ],
  });
}

function target_line(theme: Theme, { target }: BarsOptions, top: number): Record<string, unknown> {
  if (!target) return {};
  return {
    markLine: {
      silent: true,
      symbol: "none",
      lineStyle: { color: theme.bad, type: "dashed", width: 1 },
      label: {
        color: theme.ink,
        position: "start",
        align: 2 * target.value > top ? "right" : "left",
        formatter: () => target.name,
      },
      data: [{ xAxis: target.value }],
    },
  };
}

export const bars_height = (rows: number, parts: number, stack: boolean): number =>
  56 + rows * (stack || parts === 1 ? 32 : 14 * parts + 12);

// Returns the key of stacked parts, for the figure's head; none of a single part, which the axis names.
export function parts_key(
  theme: Theme,
  names: readonly string[],
): { name: string; colour: string }[] | undefined {
  if (names.length < 2) return undefined;
  return part_hues(theme, names.length).map((colour, at) => ({ name: names[at] ?? "", colour }));
}
