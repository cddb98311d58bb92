// Horizontal bars: stacked parts, one row per policy, or values side by side.
import type { Theme } from "../theme.ts";
import { axis_name, base_option, tip, with_unit, x_axis, y_axis } from "./common.ts";
import type { Option } from "./engine.ts";

interface BarPart {
  name: string;
  values: (number | null)[]; // one per row
  colours?: string[]; // one per row, if rows are policies
}

// Draws horizontal bars. With `stack`, parts are stacked in steps of one hue; without it, they are side by
// side.
export function bars(
  theme: Theme,
  rows: readonly string[],
  parts: readonly BarPart[],
  options: { name: string; unit: string; stack: boolean; max?: number },
): Option {
  const steps = theme.steps(parts.length);
  const many = parts.length > 1;
  const widest = Math.max(...rows.map((row) => row.length));
  return base_option(theme, {
    grid: {
      left: 4,
      right: 24,
      top: 8,
      bottom: 4,
      outerBoundsMode: "same",
      outerBoundsContain: "all",
    },
    xAxis: x_axis(axis_name(options.name, options.unit), theme, { max: options.max }),
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
    tooltip: {
      trigger: "item",
      formatter: (at: { seriesName: string; name: string; value: number; color: string }) =>
        tip(at.name, [{ name: at.seriesName, text: with_unit(at.value, options.unit), colour: at.color }]),
    },
    series: parts.map((part, index) => ({
      type: "bar",
      name: part.name,
      stack: options.stack ? "all" : undefined,
      barMaxWidth: options.stack || !many ? 22 : 12,
      barGap: "15%",
      data: part.values.map((value, row) =>
        part.colours ? { value, itemStyle: { color: part.colours[row] } } : value,
      ),
      itemStyle: { color: steps[index], borderColor: theme.paper, borderWidth: options.stack ? 1 : 0 },
    })),
  });
}

export const bars_height = (rows: number, parts: number, stack: boolean): number =>
  56 + rows * (stack || parts === 1 ? 32 : 14 * parts + 12);

// Returns the key of stacked parts, for the figure's head.
export function parts_key(theme: Theme, names: readonly string[]): { name: string; colour: string }[] {
  return theme.steps(names.length).map((colour, at) => ({ name: names[at] ?? "", colour }));
}
