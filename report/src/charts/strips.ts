// Heat strips: one row per resource, time from left to right, with the busiest resource of every bin
// underlined.
import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from "echarts";
import { show } from "../format.ts";
import type { Theme } from "../theme.ts";
import { axis_name, base_option, tip, x_axis, y_axis } from "./common.ts";
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

export function strips(theme: Theme, times: readonly (number | null)[], rows: readonly Strip[]): Option {
  // Bins have equal widths; `times` are their centres.
  const first = times[0] ?? 0;
  const width = times.length > 1 ? (times[1] ?? 0) - first : 2 * first || 1;
  const end = (times[times.length - 1] ?? 0) + width / 2;
  const data = rows.flatMap((strip, row) =>
    strip.values.flatMap((value, bin) => (value === null ? [] : [[times[bin] ?? 0, row, value, bin]])),
  );
  const bound = times.map((_, bin) => busiest(rows, bin));
  return base_option(theme, {
    // All strips of a page share their left edge, so that their times are aligned.
    grid: { left: 112, right: 24, top: 6, bottom: 46, outerBoundsMode: "none" },
    xAxis: {
      ...x_axis(axis_name("simulated time", "s"), theme, {
        min: 0,
        max: end,
        axis_label: { showMaxLabel: false },
      }),
      splitLine: { show: false },
    },
    yAxis: y_axis("", theme, {
      categories: rows.map((row) => row.name),
      inverse: true,
      axis_label: { color: theme.ink, interval: 0 },
    }),
    tooltip: {
      formatter: (at: { value: [number, number, number, number] }) => {
        const [time, row, value, bin] = at.value;
        const binding = bound[bin] ?? -1;
        return tip(`${show(time)} s`, [
          { name: rows[row]?.name ?? "", text: `${show(100 * value)} %`, colour: theme.heat(value) },
          { name: "busiest", text: binding < 0 ? "none" : (rows[binding]?.name ?? "") },
        ]);
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
