// Whisker chart: one value with its interval per row, next to a line at zero.
import type { Theme } from "../theme.ts";
import { axis_name, base_option, long_times, row_tooltip, tip, with_unit, x_axis, y_axis } from "./common.ts";
import type { Option } from "./engine.ts";
import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from "echarts";

export interface Whisker {
  name: string;
  value: number;
  low: number | null;
  high: number | null;
  colour: string;
}

export function whiskers(
  theme: Theme,
  rows: readonly Whisker[],
  options: { name: string; unit: string; zero: string },
): Option {
  const ends = rows.flatMap((row) => [row.value, row.low ?? row.value, row.high ?? row.value, 0]);
  const low = Math.min(...ends);
  const high = Math.max(...ends);
  const room = 0.06 * (high - low || 1);
  return base_option(theme, {
    grid: { left: 4, right: 24, top: 24, bottom: 4, outerBoundsMode: "same", outerBoundsContain: "all" },
    xAxis: x_axis(axis_name(options.name, options.unit, high), theme, {
      min: low - room,
      max: high + room,
      axis_label: { showMinLabel: false, showMaxLabel: false, ...long_times(options.unit, high) },
    }),
    yAxis: y_axis("", theme, {
      categories: rows.map((row) => row.name),
      inverse: true,
      axis_label: { color: theme.ink, interval: 0 },
    }),
    tooltip: row_tooltip(theme, (at) => {
      const row = rows[at]!;
      const span =
        row.low === null || row.high === null
          ? "none"
          : `${with_unit(row.low, "")} to ${with_unit(row.high, options.unit)}`;
      return tip(row.name, [
        { name: options.name, text: with_unit(row.value, options.unit), colour: row.colour },
        { name: "95 % interval", text: span },
      ]);
    }),
    series: [
      {
        type: "custom",
        name: options.name,
        data: rows.map((row, at) => [row.value, at, row.low ?? row.value, row.high ?? row.value]),
        encode: { x: [0, 2, 3], y: 1 },
        renderItem: (params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) => {
          const row = rows[params.dataIndex]!;
          const point = (value: number) => api.coord([value, params.dataIndex]);
          const [x = 0, y = 0] = point(row.value);
          const [from = 0] = point(row.low ?? row.value);
          const [to = 0] = point(row.high ?? row.value);
          const stroke = { stroke: row.colour, lineWidth: 2 };
          const segment = (x1: number, y1: number, x2: number, y2: number) => ({
            type: "line" as const,
            shape: { x1, y1, x2, y2 },
            style: stroke,
          });
          return {
            type: "group" as const,
            children: [
              segment(from, y, to, y),
              segment(from, y - 5, from, y + 5),
              segment(to, y - 5, to, y + 5),
              { type: "circle" as const, shape: { cx: x, cy: y, r: 5 }, style: { fill: row.colour } },
            ],
          };
        },
        markLine: {
          silent: true,
          symbol: "none",
          lineStyle: { color: theme.quiet, type: "solid", width: 1 },
          label: { color: theme.quiet, formatter: () => options.zero, position: "start" },
          data: [{ xAxis: 0 }],
        },
      },
    ],
  });
}
