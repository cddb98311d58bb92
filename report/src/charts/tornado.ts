// Tornado chart: the effect of each change on one number, the largest first.
import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from "echarts";
import type { Theme } from "../theme.ts";
import { axis_name, base_option, long_times, row_tooltip, tip, with_unit, x_axis, y_axis } from "./common.ts";
import type { Option } from "./engine.ts";
import { across_rows, possible, type Span } from "./spans.ts";

export interface Gust {
  name: string;
  value: number; // the number after the change
  note: string; // text of the tooltip
  colour: string;
  span?: Span | null; // interval of the number after the change
}

export const tornado_height = (rows: number): number => 64 + 30 * rows;

export function tornado(
  theme: Theme,
  from: number,
  wanted: readonly Gust[],
  options: { name: string; unit: string; here: string; target?: { value: number } },
): Option {
  const { target } = options;
  const least = from >= 0 && wanted.every(({ value }) => value >= 0) ? 0 : -Infinity;
  const rows = wanted.map((row) => ({ ...row, span: possible(row.span ?? null, least) }));
  const ends = rows.flatMap((row) => [row.value, row.span?.low ?? row.value, row.span?.high ?? row.value]);
  const values = [from, ...ends, ...(target ? [target.value] : [])];
  const low = Math.min(...values);
  const high = Math.max(...values);
  const room = 0.08 * (high - low || Math.abs(from) || 1);
  const widest = Math.max(...rows.map((row) => row.name.length));
  return base_option(theme, {
    grid: { left: 4, right: 24, top: 22, bottom: 4, outerBoundsMode: "same", outerBoundsContain: "all" },
    xAxis: x_axis(axis_name(options.name, options.unit, high), theme, {
      min: low >= 0 ? Math.max(0, low - room) : low - room,
      max: high + room,
      axis_label: { showMinLabel: false, showMaxLabel: false, ...long_times(options.unit, high) },
    }),
    yAxis: y_axis("", theme, {
      categories: rows.map((row) => row.name),
      inverse: true,
      axis_label: {
        color: theme.ink,
        interval: 0,
        hideOverlap: false,
        width: Math.min(230, 8 * widest),
        overflow: "break",
        lineHeight: 13,
      },
    }),
    tooltip: row_tooltip(theme, (at) => {
      const row = rows[at]!;
      return tip(row.name, [
        { name: options.name, text: with_unit(row.value, options.unit), colour: row.colour },
        ...(row.span
          ? [
              {
                name: "interval",
                text: `${with_unit(row.span.low, "")} to ${with_unit(row.span.high, options.unit)}`,
              },
            ]
          : []),
        { name: options.here, text: with_unit(from, options.unit) },
        ...(row.note === "" ? [] : [{ name: "verdict", text: row.note }]),
      ]);
    }),
    series: [
      {
        type: "custom",
        data: rows.map((row, at) => [from, at, row.value]),
        encode: { x: [0, 2], y: 1 },
        renderItem: (params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) => {
          const row = rows[params.dataIndex]!;
          const [a = 0, y = 0] = api.coord([from, params.dataIndex]);
          const [b = 0] = api.coord([row.value, params.dataIndex]);
          return {
            type: "rect" as const,
            shape: { x: Math.min(a, b), y: y - 8, width: Math.max(1, Math.abs(b - a)), height: 16 },
            style: { fill: row.colour },
          };
        },
        markLine: {
          silent: true,
          symbol: "none",
          lineStyle: { color: theme.ink, type: "solid", width: 1 },
          label: { color: theme.quiet, formatter: () => options.here, position: "start" },
          data: [
            { name: options.here, xAxis: from },
            ...(target
              ? [
                  {
                    xAxis: target.value,
                    lineStyle: { color: theme.bad, type: "dashed" },
                    label: { show: false }, // no room next to "answer"; the note names the target
                  },
                ]
              : []),
          ],
        },
      },
      ...across_rows(
        theme,
        rows.map((row) => row.span),
      ),
    ],
  });
}
