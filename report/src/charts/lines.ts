// Line chart over a common quantity: distributions, time series, curves. The tooltip shows the values of all
// lines at the crosshair.
import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from "echarts";
import type { Style, Theme } from "../theme.ts";
import {
  axis_name,
  base_option,
  colour,
  crosshair,
  long_times,
  time_unit,
  tip,
  with_unit,
  x_axis,
  y_axis,
  type TipRow,
} from "./common.ts";
import type { Option } from "./engine.ts";

type Point = [number, number];

export interface Line {
  name: string;
  style: Style;
  points: Point[];
  half_widths?: (number | null)[]; // half widths of the values' intervals, one per point
}

interface LinesOptions {
  x: { name: string; unit: string; log?: boolean };
  y: { name: string; unit: string; log?: boolean; min?: number; max?: number };
  symbols?: boolean; // draws a symbol at each point, and the crosshair snaps to the points
  step?: boolean;
  outside?: [string, string]; // texts shown before a line's first and after its last point
  levels?: { name: string; value: number }[]; // horizontal lines: bounds and targets
  limits?: { name: string; value: number }[]; // vertical lines: targets
  mark?: { name: string; at: number; from: number; to: number }; // a value of x and its interval
  saturated_from?: number; // points from this x on are saturated; the y axis ignores them
}

// True for points that the axes can show: logarithmic axes need positive values.
const drawable = (options: LinesOptions, [x, y]: Point) =>
  (!options.x.log || x > 0) && (!options.y.log || y > 0);

// Converts simulated times into a readable unit, and leaves out points that the axes cannot show.
function in_units(all: readonly Line[], options: LinesOptions): { lines: Line[]; options: LinesOptions } {
  const end = Math.max(0, ...all.flatMap((line) => line.points.map((point) => point[0])));
  const { symbol, seconds } =
    options.x.unit === "s" && !options.x.log ? time_unit(end) : { symbol: options.x.unit, seconds: 1 };
  const lines = all.map((line) => {
    const kept = line.points.map((point, at) => ({ point, half: line.half_widths?.[at] ?? null }));
    const shown = kept.filter(({ point }) => drawable(options, point));
    return {
      ...line,
      points: shown.map(({ point: [x, y] }): Point => [x / seconds, y]),
      half_widths: shown.map(({ half }) => half),
    };
  });
  return { lines, options: { ...options, x: { ...options.x, unit: symbol } } };
}

// Returns the value of a line at x, interpolated as it is drawn; null before its first and after its last
// point.
export function value_at(points: readonly Point[], x: number, step = false): number | null {
  const next = points.findIndex((point) => point[0] >= x);
  if (next < 0 || points.length === 0) return null;
  const to = points[next]!;
  const from = points[next - 1];
  if (to[0] === x || !from) return to[0] === x ? to[1] : null;
  if (step) return from[1];
  return from[1] + ((to[1] - from[1]) * (x - from[0])) / (to[0] - from[0]);
}

function text_at(line: Line, x: number, options: LinesOptions): string | null {
  const value = value_at(line.points, x, options.step);
  const first = line.points[0];
  if (value === null && options.outside && first) return options.outside[x < first[0] ? 0 : 1];
  if (value === null) return null;
  const at = line.points.findIndex((point) => point[0] === x);
  if (options.symbols && at < 0) return null;
  const half = at < 0 ? null : (line.half_widths?.[at] ?? null);
  const text = with_unit(value, options.y.unit);
  return half === null || half === 0 ? text : `${text} \u00b1 ${with_unit(half, options.y.unit)}`;
}

function tip_at(theme: Theme, all: readonly Line[], x: number, options: LinesOptions): HTMLElement {
  const rows = all.flatMap((line): TipRow[] => {
    const text = text_at(line, x, options);
    return text === null ? [] : [{ name: line.name, text, colour: colour(line.style, theme) }];
  });
  return tip(`${options.x.name} ${with_unit(x, options.x.unit)}`, rows);
}

// Returns a series that draws the intervals of a line's points; empty without intervals.
function whiskers_of(theme: Theme, line: Line): Record<string, unknown>[] {
  const spans = line.points.flatMap(([x, y], at) => {
    const half = line.half_widths?.[at] ?? 0;
    return half > 0 ? [[x, y < 0 ? y - half : Math.max(0, y - half), y + half]] : [];
  });
  if (spans.length === 0) return [];
  const style = { stroke: colour(line.style, theme), lineWidth: 1.5, opacity: 0.7 };
  return [
    {
      type: "custom",
      silent: true,
      clip: true,
      tooltip: { show: false },
      data: spans,
      encode: { x: 0, y: [1, 2] },
      renderItem: (_: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) => {
        const x = Number(api.value(0));
        const [left = 0, top = 0] = api.coord([x, Number(api.value(2))]);
        const low = Number(api.value(1));
        // A logarithmic axis has no 0: an interval that reaches it ends at the edge of the chart.
        const bottom = api.coord([x, low])[1] ?? top;
        const end = Number.isFinite(bottom) ? bottom : 1e4;
        const cap = (y: number) => ({ x1: left - 3, y1: y, x2: left + 3, y2: y });
        return {
          type: "group" as const,
          children: [{ x1: left, y1: top, x2: left, y2: end }, cap(top), cap(end)].map((shape) => ({
            type: "line" as const,
            shape,
            style,
          })),
        };
      },
    },
  ];
}

// Returns the values of the vertical targets that are at most three times the largest x of a line.
function near_limits(all: readonly Line[], { limits = [] }: LinesOptions): number[] {
  const last = Math.max(...all.flatMap((line) => line.points.map((point) => point[0])));
  return limits.map(({ value }) => value).filter((value) => value <= 3 * last);
}

function marks_of(theme: Theme, all: readonly Line[], options: LinesOptions): Record<string, unknown> {
  const { levels = [], limits = [], mark, saturated_from } = options;
  const edge = Math.max(
    ...all.flatMap((line) => line.points.map((point) => point[0])),
    ...near_limits(all, options),
  );
  // A target far beyond the values is drawn at the edge, so that it does not compress them.
  const bounds = limits.map(({ name, value }) =>
    value > edge ? { name: `${name} \u2192`, value: edge } : { name, value },
  );
  const upright = mark ? [{ name: mark.name, value: mark.at }, ...bounds] : bounds;
  const areas = [
    ...(mark
      ? [[{ xAxis: mark.from, itemStyle: { color: theme.line, opacity: 0.5 } }, { xAxis: mark.to }]]
      : []),
    ...(saturated_from === undefined
      ? []
      : [
          [
            {
              name: "saturated",
              xAxis: saturated_from,
              itemStyle: { color: theme.bad, opacity: 0.1 },
              label: { show: true, position: "insideTop", color: theme.bad, fontSize: 11 },
            },
            { xAxis: "max" },
          ],
        ]),
  ];
  if (levels.length + upright.length + areas.length === 0) return {};
  const label = (position: string) => ({ color: theme.ink, position, rotate: 0, distance: 3 });
  return {
    markLine: {
      silent: true,
      symbol: "none",
      lineStyle: { color: theme.bad, type: "dashed", width: 1 },
      label: { formatter: (one: { name: string }) => one.name },
      data: [
        ...levels.map(({ name, value }) => ({ name, yAxis: value, label: label("insideStartTop") })),
        ...upright.map(({ name, value }) => ({
          name,
          xAxis: value,
          label: { ...label("end"), align: value >= edge / 2 ? "right" : "left" },
        })),
      ],
    },
    ...(areas.length > 0 ? { markArea: { silent: true, data: areas } } : {}),
  };
}

// Rounds up to two significant digits.
function nice(value: number): number {
  const step = 10 ** (Math.floor(Math.log10(value || 1)) - 1);
  return Number((Math.ceil(value / step) * step).toPrecision(3));
}

function axes(theme: Theme, all: readonly Line[], options: LinesOptions): Record<string, unknown> {
  const { x, y } = options;
  const xs = all.flatMap((line) => line.points.map((point) => point[0])).concat(near_limits(all, options));
  const levels = (options.levels ?? []).map((level) => level.value);
  const served = (point: Point) => point[0] < (options.saturated_from ?? Infinity);
  const drawn = all.flatMap((line) => line.points);
  const kept = drawn.some(served) ? drawn.filter(served) : drawn;
  const ys = kept.map((point) => point[1]).concat(y.log ? levels : []);
  const whiskers = all.flatMap((line) =>
    line.points.flatMap((point, at) =>
      kept.includes(point) ? [point[1] + (line.half_widths?.[at] ?? 0)] : [],
    ),
  );
  const top = y.max ?? Math.max(...whiskers, ...levels);
  const [from, to] = [Math.min(...ys), Math.max(...ys, ...whiskers)];
  return {
    xAxis: {
      ...x_axis(axis_name(x.name, x.unit, Math.max(...xs)), theme, {
        log: x.log,
        min: x.log ? Math.min(...xs) : undefined,
        max: Math.max(...xs),
        axis_label: {
          showMinLabel: true,
          showMaxLabel: x.log ? true : false,
          ...long_times(x.unit, Math.max(...xs)),
        },
      }),
      axisPointer: { ...crosshair(theme, x.unit), snap: options.symbols ?? false },
    },
    yAxis: y_axis(axis_name(y.name, y.unit, top), theme, {
      log: y.log,
      min: y.log ? from / 1.1 : y.min,
      max: y.log
        ? to * 1.1
        : (y.max ??
          (kept.length < drawn.length || levels.some((level) => level > to) || to > Math.max(...ys)
            ? nice(1.1 * top)
            : undefined)),
      axis_label: long_times(y.unit, top),
    }),
  };
}

export function lines(theme: Theme, all: readonly Line[], wanted: LinesOptions): Option {
  const { lines: shown, options } = in_units(all, wanted);
  return base_option(theme, {
    ...axes(theme, shown, options),
    tooltip: {
      trigger: "axis",
      formatter: (at: { axisValue: number }[]) =>
        at[0] ? tip_at(theme, shown, Number(at[0].axisValue), options) : "",
    },
    series: [
      ...shown.map((line, at) => ({
        type: "line",
        name: line.name,
        data: line.points,
        symbol: options.symbols ? line.style.symbol : "circle",
        symbolSize: options.symbols ? 8 : 5,
        showSymbol: options.symbols ?? false,
        showAllSymbol: true,
        step: options.step ? "end" : false,
        itemStyle: { color: colour(line.style, theme) },
        lineStyle: { color: colour(line.style, theme), width: 2, type: line.style.dash },
        ...(at === 0 ? marks_of(theme, shown, options) : {}),
      })),
      ...shown.flatMap((line) => whiskers_of(theme, line)),
    ],
  });
}
