// Bands chart: the deviation of each simulated number from its reference, in tolerances; one dot per number,
// one row per suite.
import type { Theme } from "../theme.ts";
import { base_option, crosshair, nearest_tooltip, tip, x_axis, y_axis } from "./common.ts";
import type { Option } from "./engine.ts";

export interface Verdict {
  row: number;
  at: number; // 0: equal to the reference or in mid-range; -1, 1: at an edge of the tolerance band
  title: string;
  lines: { name: string; text: string }[];
  verdict: string;
}

const edge = 4; // larger deviations are drawn at the edge of the chart
export const bands_height = (rows: number): number => 66 + 40 * rows;

export function bands(theme: Theme, rows: readonly string[], dots: readonly Verdict[]): Option {
  const paint: Record<string, string> = { inside: theme.good, near: theme.quiet, outside: theme.bad };
  const symbol: Record<string, string> = { inside: "circle", near: "triangle", outside: "diamond" };
  const counts = rows.map(() => 0);
  // The dots of a row are spread over five lines, so that equal values do not hide each other.
  const lift = (row: number): number => (((counts[row]!++ * 2) % 5) - 2) * 0.13;
  return base_option(theme, {
    grid: { left: 4, right: 16, top: 22, bottom: 4, outerBoundsMode: "same", outerBoundsContain: "all" },
    xAxis: {
      ...x_axis("distance from the reference, in tolerances", theme, {
        min: -edge - 0.3,
        max: edge + 0.3,
        axis_label: {
          showMinLabel: false,
          showMaxLabel: false,
          formatter: (value: number) =>
            Math.abs(value) === edge
              ? `${value < 0 ? "\u2264 \u2212" : "\u2265 "}${edge}`
              : String(value).replace("-", "\u2212"),
        },
      }),
      axisPointer: { ...crosshair(theme, ""), show: true, triggerTooltip: false },
    },
    yAxis: {
      ...y_axis("", theme, { min: -0.5, max: rows.length - 0.5, inverse: true }),
      interval: 1,
      axisLabel: {
        color: theme.ink,
        fontSize: 12,
        customValues: rows.map((_, row) => row),
        formatter: (row: number) => rows[row] ?? "",
      },
      splitLine: { show: false },
    },
    ...nearest_tooltip((at) => {
      const dot = dots[at.dataIndex]!;
      return tip(dot.title, dot.lines);
    }),
    series: [
      {
        type: "scatter",
        data: dots.map((dot) => ({
          value: [Math.max(-edge, Math.min(edge, dot.at)), dot.row + lift(dot.row)],
          symbol: symbol[dot.verdict] ?? "rect",
          itemStyle: { color: paint[dot.verdict] ?? theme.quiet },
        })),
        symbolSize: 7,
        emphasis: { scale: 1.6 },
        itemStyle: { opacity: 0.85 },
        markArea: {
          silent: true,
          itemStyle: { color: theme.mode === "dark" ? "rgba(95,208,165,0.12)" : "rgba(0,112,79,0.08)" },
          label: { show: true, position: "top", color: theme.quiet, fontSize: 11 },
          data: [[{ name: "within tolerance", xAxis: -1 }, { xAxis: 1 }]],
        },
        markLine: {
          silent: true,
          symbol: "none",
          lineStyle: { color: theme.line, type: "solid" },
          label: { show: false },
          data: rows.slice(1).map((_, row) => ({ yAxis: row + 0.5 })),
        },
      },
    ],
  });
}
