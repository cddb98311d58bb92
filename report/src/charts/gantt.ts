// Gantt chart of a layer schedule: the transfers and computations of one context, two rows per policy, as
// papers draw it.
import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from "echarts";
import { show } from "../format.ts";
import type { Style, Theme } from "../theme.ts";
import { axis_name, base_option, colour, crosshair, tip, x_axis, y_axis } from "./common.ts";
import type { Option } from "./engine.ts";

export interface Work {
  row: number; // index into rows
  name: string;
  layer: string; // "" for all layers
  start: number; // ms
  end: number;
  style: Style;
  weak: boolean; // true: drawn as an outline (transfers, as opposed to computations)
}

export const gantt_height = (rows: number): number => 62 + 24 * rows;

// Returns a tooltip that lists the transfers and computations in progress at `time`.
function moment_tip(
  theme: Theme,
  rows: readonly string[],
  works: readonly Work[],
  time: number,
): HTMLElement {
  const here = works.filter((work) => work.start <= time && time < work.end);
  return tip(
    `${show(time)} ms`,
    here.map((work) => ({
      name: `${rows[work.row] ?? ""}: ${work.name}${work.layer === "" ? "" : ` of layer ${work.layer}`}`,
      text: `${show(work.start)} to ${show(work.end)} ms`,
      colour: colour(work.style, theme),
    })),
  );
}

export function gantt(theme: Theme, rows: readonly string[], works: readonly Work[]): Option {
  const end = Math.max(...works.map((work) => work.end), 0);
  const widest = Math.max(...rows.map((row) => row.length));
  return base_option(theme, {
    grid: { left: 4, right: 24, top: 6, bottom: 30, outerBoundsMode: "same", outerBoundsContain: "all" },
    xAxis: {
      ...x_axis(axis_name("time from admission", "ms"), theme, {
        min: 0,
        max: end,
        axis_label: { showMaxLabel: false },
      }),
      axisPointer: { ...crosshair(theme, "ms"), snap: false },
    },
    yAxis: y_axis("", theme, {
      categories: [...rows],
      inverse: true,
      axis_label: { color: theme.ink, interval: 0, width: Math.min(210, 8 * widest), overflow: "truncate" },
    }),
    dataZoom: [
      { type: "inside", xAxisIndex: 0, filterMode: "none", zoomOnMouseWheel: "ctrl" },
      slider(theme),
    ],
    tooltip: {
      trigger: "axis",
      axisPointer: { axis: "x" },
      formatter: (at: { axisValue: number }[]) =>
        moment_tip(theme, rows, works, Number(at[0]?.axisValue ?? 0)),
    },
    series: [
      {
        type: "custom",
        clip: true,
        data: works.map((work) => [work.start, work.row, work.end]),
        encode: { x: [0, 2], y: 1 },
        renderItem: (params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) => {
          const work = works[params.dataIndex]!;
          const [left = 0, y = 0] = api.coord([work.start, work.row]);
          const [right = 0] = api.coord([work.end, work.row]);
          const width = Math.max(0.75, right - left);
          const fill = colour(work.style, theme);
          const label = work.layer !== "" && width > 9 + 7 * work.layer.length ? work.layer : "";
          return {
            type: "rect" as const,
            shape: { x: left, y: y - 8, width, height: 16 },
            style: {
              fill,
              fillOpacity: work.weak ? 0.22 : 1,
              stroke: work.weak ? fill : theme.paper,
              lineWidth: width > 3 ? 1 : 0,
            },
            textContent: { style: { text: label, fill: work.weak ? theme.ink : theme.paper, fontSize: 10 } },
            textConfig: { position: "inside" as const },
          };
        },
      },
    ],
  });
}

function slider(theme: Theme): Record<string, unknown> {
  return {
    type: "slider",
    xAxisIndex: 0,
    filterMode: "none",
    height: 14,
    bottom: 2,
    showDetail: false,
    showDataShadow: false,
    brushSelect: false,
    borderColor: theme.line,
    fillerColor: theme.mode === "dark" ? "rgba(125,182,255,0.15)" : "rgba(11,92,173,0.10)",
    handleStyle: { color: theme.paper, borderColor: theme.quiet },
    moveHandleSize: 0,
  };
}
