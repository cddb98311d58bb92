// Helpers for all charts: axes with units, tooltips made of text nodes, grids with room for labels.
import { h } from "../dom.ts";
import { axis_label, duration, show } from "../format.ts";
import type { Style, Theme } from "../theme.ts";
import type { Option } from "./engine.ts";

export const most_marks = 2000;

// Charts measure their labels and need the page's font by name.
const font = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

export const colour = (style: Style, theme: Theme): string => style[theme.mode];

export interface TipRow {
  name: string;
  text: string;
  colour?: string;
}

// Returns a tooltip as an element, so that names from files are never parsed as markup.
export function tip(title: string, rows: readonly TipRow[]): HTMLElement {
  return h(
    "div",
    { class: "tip" },
    title === "" ? null : h("div", { class: "tip-title" }, title),
    rows.map((row) => {
      const swatch = h("i");
      if (row.colour) swatch.style.background = row.colour;
      return h(
        "div",
        { class: "tip-row" },
        row.colour ? swatch : null,
        h("span", {}, row.name),
        h("b", {}, row.text),
      );
    }),
  );
}

// Times from this many milliseconds on are shown in seconds, minutes or hours.
const most_ms = 10_000;

// Returns the name of an axis with its unit. `top`: the largest value; labels of long times include the unit.
export function axis_name(name: string, unit: string, top = 0): string {
  return unit === "" || (unit === "ms" && top >= most_ms) ? name : `${name} (${unit})`;
}

// Returns the label formatter for an axis in ms with long times; `top`: the largest value.
export function long_times(unit: string, top: number): Record<string, unknown> {
  return unit === "ms" && top >= most_ms ? { formatter: duration } : {};
}

// Returns a readable unit for simulated times up to `end_s`: the unit's symbol and its length in seconds.
export function time_unit(end_s: number): { symbol: string; seconds: number } {
  if (end_s >= 3 * 3600) return { symbol: "h", seconds: 3600 };
  return end_s >= 300 ? { symbol: "min", seconds: 60 } : { symbol: "s", seconds: 1 };
}

// Returns the options of a vertical line at the pointer, which labels the pointer's value on the axis.
export function crosshair(theme: Theme, unit: string): Record<string, unknown> {
  return {
    type: "line",
    lineStyle: { color: theme.quiet, type: "solid", width: 1 },
    label: {
      show: true,
      backgroundColor: theme.quiet,
      color: theme.paper,
      padding: [2, 4],
      margin: 2,
      formatter: ({ value }: { value: number | string }) =>
        typeof value === "number" ? with_unit(value, unit) : String(value),
    },
  };
}

// Returns the tooltip options of charts of points: a crosshair follows the pointer, and pointer.ts shows the
// tooltip of the nearest point.
export function nearest_tooltip(
  formatter: (at: { seriesIndex: number; dataIndex: number }) => HTMLElement | "",
): Record<string, unknown> {
  return { axisPointer: { triggerOn: "mousemove" }, tooltip: { triggerOn: "none", formatter } };
}

// Returns the tooltip options of charts whose rows show a tooltip wherever the pointer is in them. `content`
// returns the tooltip of a row.
export function row_tooltip(theme: Theme, content: (row: number) => HTMLElement): Record<string, unknown> {
  const shade = theme.mode === "dark" ? "rgba(255,255,255,0.07)" : "rgba(20,30,50,0.06)";
  return {
    trigger: "axis",
    axisPointer: { type: "shadow", axis: "y", shadowStyle: { color: shade }, label: { show: false } },
    formatter: (all: { dataIndex: number }[]) => (all[0] ? content(all[0].dataIndex) : ""),
  };
}

interface AxisOptions {
  log?: boolean;
  min?: number | string;
  max?: number | string;
  scale?: boolean;
  categories?: string[];
  inverse?: boolean;
  axis_label?: Record<string, unknown>;
}

// Returns round ticks of a short range: at most about five.
function round_ticks(from: number, to: number): number[] {
  const rough = (to - from) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? rough;
  const ticks: number[] = [];
  for (let at = Math.ceil(from / step); at * step <= to * (1 + 1e-9); ++at)
    ticks.push(Number((at * step).toPrecision(12)));
  return ticks;
}

// Returns ticks at 1, 2 and 5 of every decade of the axis; only whole decades if there are many, and other round
// values if hardly one of these lies in the range.
export function log_ticks(from: number, to: number): number[] {
  const decades = Math.log10(to / from);
  const steps = decades > 4 ? [1] : decades > 2 ? [1, 3] : [1, 2, 5];
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.ceil(Math.log10(to)); ++power) {
    for (const step of steps) ticks.push(Number(`${step}e${power}`));
  }
  const inside = ticks.filter((tick) => tick >= from * (1 - 1e-9) && tick <= to * (1 + 1e-9));
  return inside.length < 3 && to > from ? round_ticks(from, to) : inside;
}

function axis(name: string, theme: Theme, options: AxisOptions): Record<string, unknown> {
  const { categories, min, max } = options;
  const logarithmic = options.log && typeof min === "number" && typeof max === "number" && min > 0;
  const ticks = logarithmic ? { customValues: log_ticks(min, max) } : {};
  return {
    type: categories ? "category" : options.log ? "log" : "value",
    data: categories,
    inverse: options.inverse ?? false,
    min: options.min,
    max: options.max,
    scale: options.scale ?? false,
    name,
    nameTextStyle: { color: theme.quiet, fontSize: 12 },
    axisLine: { show: true, lineStyle: { color: theme.line } },
    axisTick: { show: false, ...ticks },
    axisLabel: {
      color: theme.quiet,
      fontSize: 12,
      hideOverlap: true,
      ...(categories ? {} : { formatter: (value: number) => axis_label(value) }),
      ...ticks,
      ...options.axis_label,
    },
    splitLine: { show: !categories, lineStyle: { color: theme.line, width: 1 } },
    minorTick: { show: false },
  };
}

export function x_axis(name: string, theme: Theme, options: AxisOptions = {}): Record<string, unknown> {
  return { ...axis(name, theme, options), nameLocation: "middle", nameGap: 28 };
}

export function y_axis(name: string, theme: Theme, options: AxisOptions = {}): Record<string, unknown> {
  const base = axis(name, theme, options);
  const text = { ...(base.nameTextStyle as object), align: "left", padding: [0, 0, 2, 0] };
  return { ...base, nameLocation: options.inverse ? "start" : "end", nameGap: 10, nameTextStyle: text };
}

// Returns the options that all charts share, together with the chart's own options (`extra`).
export function base_option(theme: Theme, extra: Record<string, unknown>): Option {
  return {
    animation: false,
    backgroundColor: "transparent",
    textStyle: { fontFamily: font, color: theme.ink, fontSize: 12 },
    grid: { left: 4, right: 20, top: 30, bottom: 4, outerBoundsMode: "same", outerBoundsContain: "all" },
    ...extra,
    tooltip: {
      confine: true,
      backgroundColor: theme.paper,
      borderColor: theme.line,
      textStyle: { color: theme.ink, fontSize: 12 },
      extraCssText: "box-shadow:0 2px 10px rgb(0 0 0 / 18%);",
      ...(extra.tooltip as object | undefined),
    },
  };
}

export function with_unit(value: number | null, unit: string): string {
  if (value === null) return show(null);
  if (unit === "ms" && Math.abs(value) >= most_ms) return duration(value);
  return unit === "" ? show(value) : `${show(value)} ${unit}`;
}

// Returns every n-th item, so that at most `most` remain.
export function thin<T>(items: readonly T[], most: number): T[] {
  if (items.length <= most) return [...items];
  const step = Math.ceil(items.length / most);
  return items.filter((_, index) => index % step === 0);
}
