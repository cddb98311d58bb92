// Draws the intervals of a chart's rows over its marks.
import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from "echarts";
import type { Theme } from "../theme.ts";

export interface Span {
  low: number;
  high: number;
}

// Returns the interval of a value; null if its half width is unknown or 0.
export function span_of(value: number | null, half_width: number | null): Span | null {
  return value === null || half_width === null || half_width <= 1e-9 * Math.abs(value)
    ? null
    : { low: value - half_width, high: value + half_width };
}

// Returns a series that draws a horizontal whisker in every row with an interval.
export function across_rows(
  theme: Theme,
  spans: readonly (Span | null)[],
  colour = theme.ink,
): Record<string, unknown>[] {
  const data = spans.flatMap((span, row) => (span ? [[span.low, span.high, row]] : []));
  if (data.length === 0) return [];
  return [
    {
      type: "custom",
      name: "95 % interval",
      silent: true,
      clip: true,
      z: 5,
      data,
      encode: { x: [0, 1], y: 2 },
      renderItem: (_: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) => {
        const [low, high, row] = [0, 1, 2].map((at) => Number(api.value(at))) as [number, number, number];
        const [from = 0, y = 0] = api.coord([low, row]);
        const [to = 0] = api.coord([high, row]);
        const segment = (x1: number, y1: number, x2: number, y2: number) => ({
          type: "line" as const,
          shape: { x1, y1, x2, y2 },
          style: { stroke: colour, lineWidth: 1.5 },
        });
        return {
          type: "group" as const,
          children: [
            segment(from, y, to, y),
            segment(from, y - 4, from, y + 4),
            segment(to, y - 4, to, y + 4),
          ],
        };
      },
    },
  ];
}

// Returns a series that draws a pale band in every row with a range of plausible machines.
export function bands_across(theme: Theme, spans: readonly (Span | null)[]): Record<string, unknown>[] {
  const data = spans.flatMap((span, row) => (span ? [[span.low, span.high, row]] : []));
  if (data.length === 0) return [];
  return [
    {
      type: "custom",
      name: "plausible machines",
      silent: true,
      clip: true,
      z: 4,
      data,
      encode: { x: [0, 1], y: 2 },
      renderItem: (_: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) => {
        const [low, high, row] = [0, 1, 2].map((at) => Number(api.value(at))) as [number, number, number];
        const [x = 0, y = 0] = api.coord([low, row]);
        const [to = 0] = api.coord([high, row]);
        const shape = { x, y: y + 5, width: Math.max(1, to - x), height: 5 };
        return { type: "rect" as const, shape, style: { fill: theme.ink, opacity: 0.3 } };
      },
    },
  ];
}
