// Tile map: one tile per pair of values of two fields, in the colour of the policy that is fastest there.
import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from "echarts";
import type { Theme } from "../theme.ts";
import { base_option, nearest_tooltip, tip, x_axis, y_axis, type TipRow } from "./common.ts";
import type { Option } from "./engine.ts";

export interface Tile {
  column: number;
  row: number;
  colour: string;
  text: string;
  title: string;
  rows: TipRow[];
}

export function tiles(
  theme: Theme,
  columns: { name: string; labels: string[] },
  rows: { name: string; labels: string[] },
  all: readonly Tile[],
): Option {
  return base_option(theme, {
    grid: { left: 4, right: 12, top: 30, bottom: 4, outerBoundsMode: "same", outerBoundsContain: "all" },
    xAxis: { ...x_axis(columns.name, theme, { categories: columns.labels }), splitLine: { show: false } },
    yAxis: { ...y_axis(rows.name, theme, { categories: rows.labels }), splitLine: { show: false } },
    ...nearest_tooltip((at) => {
      const tile = all[at.dataIndex]!;
      return tip(tile.title, tile.rows);
    }),
    series: [
      {
        type: "custom",
        data: all.map((tile) => [tile.column, tile.row]),
        encode: { x: 0, y: 1 },
        renderItem: (params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) => {
          const tile = all[params.dataIndex]!;
          const [x = 0, y = 0] = api.coord([tile.column, tile.row]);
          const size = api.size ? (api.size([1, 1]) as number[]) : [20, 20];
          const [width = 20, height = 20] = size;
          return {
            type: "rect" as const,
            shape: { x: x - width / 2 + 1, y: y - height / 2 + 1, width: width - 2, height: height - 2 },
            style: { fill: tile.colour },
            textContent: { style: { text: width > 34 ? tile.text : "", fill: theme.paper, fontSize: 11 } },
            textConfig: { position: "inside" as const },
          };
        },
      },
    ],
  });
}
