// Heat strips: one row per resource, with time from left to right. The busiest resource of every time bin is
// underlined.
import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from "echarts";
import { show } from "../format.ts";
import type { Theme } from "../theme.ts";
import { axis_name, base_option, crosshair, time_unit, tip, with_unit, x_axis, y_axis } from "./common.ts";
import type { Option } from "./engine.ts";

export interface Strip {
  name: string;
  values: (number | null)[]; // shares, one per bin
}

export const strips_height = (rows: number): number => 54 + 22 * rows;

// Returns the row with the largest value of a bin; -1 if all are idle.
export function busiest(strips: readonly Strip[], bin: number): number {
  let best = -1;
  strips.forEach((strip, row) => {
    const value = strip.values[bin] ?? 0;
    if (value > 0 && (best < 0 || value > (strips[best]!.values[bin] ?? 0))) best = row;
  });
  return best;
}

// Returns a tooltip that shows the utilization of every resource in a bin.
function bin_tip(theme: Theme, time: string, rows: readonly Strip[], bin: number): HTMLElement {
  const most = busiest(rows, bin);
  return tip(
    time,
    rows.map((row, at) => {
      const value = row.values[bin] ?? null;
      const text = value === null ? "\u2013" : `${show(100 * value)} %`;
      return {
        name: at === most ? `${row.name}, the busiest` : row.name,
        text,
        colour: theme.heat(value ?? 0),
      };
    }),
  );
}

export function strips(theme: Theme, times: readonly (number | null)[], rows: readonly Strip[]): Option {
  // Bins have equal widths; `times` are their centres.
  const first = times[0] ?? 0;
  const width_s = times.length > 1 ? (times[1] ?? 0) - first : 2 * first || 1;
  const end_s = (times[times.length - 1] ?? 0) + width_s / 2;
  const { symbol, seconds } = time_unit(end_s);
  const width = width_s / seconds;
  const bin_at = (time: number) => Math.min(times.length - 1, Math.max(0, Math.floor(time / width)));
  const data = rows.flatMap((strip, row) =>
    strip.values.flatMap((value, bin) =>
      value === null ? [] : [[(times[bin] ?? 0) / seconds, row, value, bin]],
    ),
  );
  const bound = times.map((_, bin) => busiest(rows, bin));
  return base_option(theme, {
    // All charts of strips on a page have the same left edge, so that their times are aligned.
    grid: { left: 112, right: 24, top: 6, bottom: 46, outerBoundsMode: "none" },
    xAxis: {
      ...x_axis(axis_name("simulated time", symbol), theme, {
        min: 0,
        max: end_s / seconds,
        axis_label: { showMaxLabel: false },
      }),
      splitLine: { show: false },
      axisPointer: { ...crosshair(theme, symbol), snap: false, z: 10 },
    },
    yAxis: y_axis("", theme, {
      categories: rows.map((row) => row.name),
      inverse: true,
      axis_label: { color: theme.ink, interval: 0 },
    }),
    tooltip: {
      trigger: "axis",
      axisPointer: { axis: "x" },
      formatter: (at: { axisValue: number }[]) => {
        const time = Number(at[0]?.axisValue ?? 0);
        return bin_tip(theme, with_unit(time, symbol), rows, bin_at(time));
      },
    },
    series: [
      {
        type: "custom",
        data,
        encode: { x: 0, y: 1 },
        renderItem: (_: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) => {
          const [time, row, value, bin] = [0, 1, 2, 3].map((at) => Number(api.value(at))) as [
            number,
            number,
            number,
            number,
          ];
          const [left = 0, middle = 0] = api.coord([time - width / 2, row]);
          const [right = 0] = api.coord([time + width / 2, row]);
          const cell = { x: left, y: middle - 9, width: right - left + 0.5, height: 18 };
          const children = [{ type: "rect" as const, shape: cell, style: { fill: theme.heat(value) } }];
          if (bound[bin] === row) {
            children.push({
              type: "rect",
              shape: { ...cell, y: middle + 6, height: 3 },
              style: { fill: theme.bad },
            });
          }
          return { type: "group" as const, children };
        },
      },
    ],
  });
}
