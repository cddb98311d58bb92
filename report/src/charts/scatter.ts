// Scatter chart: points in a plane, one series per colour. Saturated points are drawn in a strip above the
// others, so that they do not stretch the y axis.
import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from "echarts";
import type { Style, Theme } from "../theme.ts";
import {
  axis_name,
  base_option,
  colour,
  crosshair,
  long_times,
  nearest_tooltip,
  tip,
  with_unit,
  x_axis,
  y_axis,
} from "./common.ts";
import type { Option } from "./engine.ts";
import type { Span } from "./spans.ts";

export interface Dot {
  x: number;
  y: number;
  title: string; // title of the tooltip
  key: number; // identifies the dot to the page
  span?: Span | null; // interval of y
  saturated?: boolean;
}

export interface Cloud {
  name: string;
  style: Style;
  dots: Dot[];
  strong?: boolean; // drawn larger, such as the answer
  line?: "steps" | "solid" | "dashed"; // connects the dots in order
  hollow?: boolean;
  beside?: string; // name of the cloud whose dots this cloud marks, and whose offset it therefore takes
}

export interface Axis {
  name: string;
  unit: string;
  log?: boolean;
  swept?: boolean; // a swept field, whose range includes the saturated points
}

// True iff the values span so many decades that they need a logarithmic axis.
export function spans_decades(values: readonly number[]): boolean {
  const positive = values.filter((value) => value > 0);
  return (
    positive.length === values.length &&
    values.length > 2 &&
    Math.max(...positive) / Math.min(...positive) > 30
  );
}

interface Range {
  min: number;
  max: number;
}

function limits(values: readonly number[], log: boolean): Range {
  const low = Math.min(...values);
  const high = Math.max(...values);
  if (log) return { min: low / 1.2, max: high * 1.2 };
  const room = 0.05 * (high - low || Math.abs(high) || 1);
  return { min: low >= 0 ? Math.max(0, low - room) : low - room, max: high + room };
}

// Returns axis options that show all names if they fit next to each other on a narrow screen.
const few_names = (names: readonly string[]) =>
  names.join("").length > 45 ? {} : { interval: 0, hideOverlap: false };

interface ScatterOptions {
  diagonal?: boolean;
  categories?: string[];
  small?: boolean;
  limit?: { name: string; x?: number; y?: number }[]; // targets
}

interface Frame {
  xs: Range;
  ys: Range;
  strip: { from: number; at: number; to: number } | null; // strip of saturated points, in values of y
}

// True iff a target is so near the values that the axis can include it. Other targets are drawn at the upper
// edge.
const is_near = (target: number, values: readonly number[]): boolean =>
  target > 0 && target <= 3 * Math.max(...values);

// Returns the ranges of both axes, with room for the strip of saturated points.
function frame_of(clouds: readonly Cloud[], x: Axis, y: Axis, options: ScatterOptions): Frame {
  const dots = clouds.flatMap((cloud) => cloud.dots);
  const served = dots.filter((dot) => !dot.saturated);
  const shown = served.length > 0 ? served : dots;
  const targets = options.limit ?? [];
  const xs = limits(
    (x.swept ? dots : shown).map((dot) => dot.x),
    x.log ?? false,
  );
  const values = shown.map((dot) => dot.y);
  const whiskers = shown.flatMap((dot) => (dot.span ? [dot.span.low, dot.span.high] : []));
  const least = values.every((value) => value >= 0) ? 0 : -Infinity;
  const ends = whiskers.map((end) => Math.max(least, end)).filter((end) => !y.log || end > 0);
  const marked = targets.flatMap((one) => one.y ?? []).filter((value) => is_near(value, values));
  const ys = limits(values.concat(marked, ends), y.log ?? false);
  if (options.diagonal) {
    xs.min = ys.min = Math.min(xs.min, ys.min);
    xs.max = ys.max = Math.max(xs.max, ys.max);
  }
  if (served.length === 0 || served.length === dots.length) return { xs, ys, strip: null };
  const above = (share: number): number =>
    y.log ? ys.max * (ys.max / ys.min) ** share : ys.max + share * (ys.max - ys.min);
  const strip = { from: above(0.02), at: above(0.09), to: above(options.small ? 0.4 : 0.24) };
  return { xs, ys: { min: ys.min, max: strip.to }, strip };
}

function place_of(dot: Dot, { xs, strip }: Frame): [number, number] {
  if (!strip || !dot.saturated) return [dot.x, dot.y];
  return [Math.min(xs.max, Math.max(xs.min, dot.x)), strip.at];
}

// Intervals are drawn only up to this number; more would hide the points.
const most_spans = 60;

function spans_series(theme: Theme, clouds: readonly Cloud[]): Record<string, unknown>[] {
  const data = clouds.flatMap((cloud) =>
    cloud.dots.flatMap((dot) =>
      dot.span && !dot.saturated
        ? [{ value: [dot.x, dot.span.low, dot.span.high], stroke: colour(cloud.style, theme) }]
        : [],
    ),
  );
  if (data.length === 0 || data.length > most_spans) return [];
  return [
    {
      type: "custom",
      silent: true,
      clip: true,
      z: 2,
      data: data.map(({ value }) => value),
      encode: { x: 0, y: [1, 2] },
      renderItem: (params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) => {
        const { value, stroke } = data[params.dataIndex]!;
        const [x, low, high] = value as [number, number, number];
        const [left = 0, top = 0] = api.coord([x, high]);
        const bottom = api.coord([x, low])[1] ?? 0;
        const shape = { x1: left, y1: top, x2: left, y2: Number.isFinite(bottom) ? bottom : 1e4 };
        return { type: "line" as const, shape, style: { stroke, lineWidth: 1.5, opacity: 0.6 } };
      },
    },
  ];
}

function marks_of(theme: Theme, frame: Frame, options: ScatterOptions): Record<string, unknown> {
  const { xs, ys, strip } = frame;
  const top = strip?.from ?? ys.max;
  const above = (one: { y?: number }) => one.y !== undefined && one.y > top;
  const targets = (options.limit ?? []).map((one) => ({
    name: above(one) ? `${one.name}, above \u2191` : one.name,
    ...(one.x === undefined
      ? {
          yAxis: Math.min(one.y ?? 0, top),
          label: { position: above(one) ? "insideStartBottom" : "insideStartTop" },
        }
      : { xAxis: one.x, label: { position: "end", rotate: 0 } }),
    lineStyle: { color: theme.bad },
  }));
  const equal = options.diagonal
    ? [[{ name: "equal", coord: [xs.min, ys.min] }, { coord: [xs.max, ys.max] }]]
    : [];
  const data = [...targets, ...equal];
  return {
    ...(data.length > 0
      ? {
          markLine: {
            silent: true,
            symbol: "none",
            lineStyle: { color: theme.quiet, type: "dashed", width: 1 },
            label: {
              color: theme.ink,
              formatter: (mark: { name: string }) => mark.name,
              position: "insideMiddleTop",
            },
            data,
          },
        }
      : {}),
    ...(strip
      ? {
          markArea: {
            silent: true,
            itemStyle: { color: theme.bad, opacity: 0.09 },
            label: { show: true, position: "insideTopRight", color: theme.bad, fontSize: 10 },
            data: [[{ name: "saturated", yAxis: strip.from }, { yAxis: strip.to }]],
          },
        }
      : {}),
  };
}

// A sweep's few values are the labels of its axis.
function swept_ticks(clouds: readonly Cloud[], x: Axis): Record<string, unknown> {
  const values = new Set(clouds.flatMap(({ dots }) => dots.map((dot) => dot.x)));
  if (!x.swept || values.size > 10) return {};
  return { customValues: [...values].sort((a, b) => a - b), showMinLabel: true, showMaxLabel: true };
}

function axes(
  theme: Theme,
  clouds: readonly Cloud[],
  x: Axis,
  y: Axis,
  frame: Frame,
  options: ScatterOptions,
): Record<string, unknown> {
  const { xs, ys, strip } = frame;
  const ends = (log?: boolean) => ({ showMinLabel: log ?? false, showMaxLabel: log ?? false });
  const top = strip ? strip.from : ys.max;
  const label = y_axis("", theme, { ...ys, log: y.log }).axisLabel as {
    formatter: (value: number) => string;
  };
  const times = long_times(y.unit, top) as { formatter?: (value: number) => string };
  const text = times.formatter ?? label.formatter;
  const x_options = options.categories
    ? { categories: options.categories, axis_label: few_names(options.categories) }
    : {
        ...xs,
        log: x.log,
        axis_label: { ...ends(x.log), ...long_times(x.unit, xs.max), ...swept_ticks(clouds, x) },
      };
  return {
    xAxis: {
      ...x_axis(axis_name(x.name, x.unit, xs.max), theme, x_options),
      axisPointer: { ...crosshair(theme, x.unit), show: true, triggerTooltip: false },
    },
    yAxis: {
      ...y_axis(axis_name(y.name, y.unit, top), theme, {
        ...ys,
        log: y.log,
        axis_label: {
          ...ends(y.log && !strip),
          formatter: (value: number) => (value > top ? "" : text(value)),
        },
      }),
      axisPointer: { ...crosshair(theme, y.unit), show: true, triggerTooltip: false },
    },
  };
}

export function scatter(
  theme: Theme,
  clouds: readonly Cloud[],
  x: Axis,
  y: Axis,
  options: ScatterOptions = {},
): Option {
  const frame = frame_of(clouds, x, y, options);
  return base_option(theme, {
    ...axes(theme, clouds, x, y, frame, options),
    ...nearest_tooltip((at) => {
      const cloud = clouds[at.seriesIndex];
      const dot = cloud?.dots[at.dataIndex];
      if (!cloud || !dot) return "";
      const across = options.categories ? (options.categories[dot.x] ?? "") : with_unit(dot.x, x.unit);
      const half = dot.span ? ` \u00b1 ${with_unit((dot.span.high - dot.span.low) / 2, y.unit)}` : "";
      return tip(dot.title || cloud.name, [
        { name: x.name, text: across },
        { name: y.name, text: with_unit(dot.y, y.unit) + half, colour: colour(cloud.style, theme) },
        ...(dot.saturated ? [{ name: "saturated", text: "more arrives than leaves" }] : []),
      ]);
    }),
    series: [
      ...clouds.map((cloud, index) => ({
        ...cloud_series(theme, cloud, options.small ?? false),
        // Offsets keep equal points of several settings from hiding each other.
        ...(x.swept ? { symbolOffset: [offset_of(cloud, clouds), 0] } : {}),
        data: cloud.dots.map((dot) => place_of(dot, frame)),
        ...(index === 0 ? marks_of(theme, frame, options) : {}),
      })),
      ...spans_series(theme, clouds),
    ],
  });
}

// Returns the offset in px of a cloud from the value of x that it shares with other clouds.
function offset_of(cloud: Cloud, clouds: readonly Cloud[]): number {
  const names = clouds.filter(({ beside }) => beside === undefined).map(({ name }) => name);
  const step = Math.min(6, 24 / Math.max(1, names.length - 1));
  return (names.indexOf(cloud.beside ?? cloud.name) - (names.length - 1) / 2) * step;
}

function cloud_series(theme: Theme, cloud: Cloud, small: boolean): Record<string, unknown> {
  const paint = colour(cloud.style, theme);
  return {
    type: cloud.line ? "line" : "scatter",
    name: cloud.name,
    symbol: cloud.style.symbol,
    symbolSize: cloud.strong ? 16 : cloud.hollow || cloud.line ? 11 : small ? 5 : 7,
    ...(cloud.line
      ? {
          step: cloud.line === "steps" ? "end" : false,
          lineStyle: { color: paint, width: 1.5, type: cloud.line === "dashed" ? "dashed" : "solid" },
        }
      : {}),
    itemStyle: {
      color: cloud.hollow ? "transparent" : paint,
      opacity: cloud.strong || cloud.line || cloud.hollow ? 1 : 0.75,
      ...(cloud.hollow ? { borderColor: paint, borderWidth: 1.5 } : {}),
      ...(cloud.strong ? { borderColor: theme.paper, borderWidth: 2 } : {}),
    },
    emphasis: { scale: 1.6, itemStyle: { opacity: 1 } },
    z: cloud.strong ? 4 : 3,
  };
}
