// Scatter chart: points in a plane, one series per colour.
import type { Style, Theme } from "../theme.ts";
import { axis_name, base_option, colour, tip, with_unit, x_axis, y_axis } from "./common.ts";
import type { Option } from "./engine.ts";

export interface Dot {
  x: number;
  y: number;
  title: string; // title of the tooltip
  key: number; // identifies the dot to the page
}

export interface Cloud {
  name: string;
  style: Style;
  dots: Dot[];
  strong?: boolean; // larger: the front, the answer
  line?: "steps" | "solid" | "dashed"; // connects the dots in order
  hollow?: boolean;
}

export interface Axis {
  name: string;
  unit: string;
  log?: boolean;
}

// True iff the values span decades, so that they need a logarithmic axis.
export function spans_decades(values: readonly number[]): boolean {
  const positive = values.filter((value) => value > 0);
  return (
    positive.length === values.length &&
    values.length > 2 &&
    Math.max(...positive) / Math.min(...positive) > 30
  );
}

function limits(values: readonly number[], log: boolean): { min: number; max: number } {
  const low = Math.min(...values);
  const high = Math.max(...values);
  if (log) return { min: low / 1.2, max: high * 1.2 };
  const room = 0.05 * (high - low || Math.abs(high) || 1);
  return { min: low >= 0 ? Math.max(0, low - room) : low - room, max: high + room };
}

// Names that fit beside each other on a narrow screen are all shown.
const few_names = (names: readonly string[]) =>
  names.join("").length > 45 ? {} : { interval: 0, hideOverlap: false };

export function scatter(
  theme: Theme,
  clouds: readonly Cloud[],
  x: Axis,
  y: Axis,
  options: {
    diagonal?: boolean;
    categories?: string[];
    small?: boolean;
    limit?: { name: string; x?: number; y?: number }[];
  } = {},
): Option {
  const dots = clouds.flatMap((cloud) => cloud.dots);
  const xs = limits(
    dots.map((dot) => dot.x),
    x.log ?? false,
  );
  const ys = limits(
    dots.map((dot) => dot.y),
    y.log ?? false,
  );
  if (options.diagonal) {
    xs.min = ys.min = Math.min(xs.min, ys.min);
    xs.max = ys.max = Math.max(xs.max, ys.max);
  }
  const ends = { axis_label: { showMinLabel: x.log ?? false, showMaxLabel: x.log ?? false } };
  const marks = (options.limit ?? []).map((one) => ({ name: one.name, xAxis: one.x, yAxis: one.y }));
  return base_option(theme, {
    xAxis: x_axis(
      axis_name(x.name, x.unit),
      theme,
      options.categories
        ? { categories: options.categories, axis_label: few_names(options.categories) }
        : { ...xs, log: x.log, ...ends },
    ),
    yAxis: y_axis(axis_name(y.name, y.unit), theme, {
      ...ys,
      log: y.log,
      axis_label: { showMinLabel: y.log ?? false, showMaxLabel: y.log ?? false },
    }),
    tooltip: {
      formatter: (at: { seriesIndex: number; dataIndex: number; color: string }) => {
        const cloud = clouds[at.seriesIndex];
        const dot = cloud?.dots[at.dataIndex];
        if (!cloud || !dot) return "";
        const across = options.categories ? (options.categories[dot.x] ?? "") : with_unit(dot.x, x.unit);
        return tip(dot.title || cloud.name, [
          { name: x.name, text: across },
          { name: y.name, text: with_unit(dot.y, y.unit), colour: at.color },
        ]);
      },
    },
    series: clouds.map((cloud, index) => ({
      type: cloud.line ? "line" : "scatter",
      name: cloud.name,
      data: cloud.dots.map((dot) => [dot.x, dot.y]),
      symbol: cloud.style.symbol,
      symbolSize: options.small ? 5 : cloud.strong ? 16 : cloud.hollow ? 11 : 7,
      ...(cloud.line
        ? {
            step: cloud.line === "steps" ? "end" : false,
            lineStyle: {
              color: colour(cloud.style, theme),
              width: 1.5,
              type: cloud.line === "dashed" ? "dashed" : "solid",
            },
          }
        : {}),
      itemStyle: {
        color: cloud.hollow ? "transparent" : colour(cloud.style, theme),
        opacity: cloud.strong || cloud.line || cloud.hollow ? 1 : 0.75,
        ...(cloud.hollow ? { borderColor: colour(cloud.style, theme), borderWidth: 1.5 } : {}),
        ...(cloud.strong ? { borderColor: theme.paper, borderWidth: 2 } : {}),
      },
      z: cloud.strong ? 4 : 3,
      markLine:
        index === 0 && (options.diagonal || marks.length > 0)
          ? {
              silent: true,
              symbol: "none",
              lineStyle: { color: theme.quiet, type: "dashed", width: 1 },
              label: {
                color: theme.quiet,
                formatter: (mark: { name: string }) => mark.name,
                position: "insideMiddleTop",
              },
              data: [
                ...marks,
                ...(options.diagonal
                  ? [[{ name: "equal", coord: [xs.min, ys.min] }, { coord: [xs.max, ys.max] }]]
                  : []),
              ],
            }
          : undefined,
    })),
  });
}
