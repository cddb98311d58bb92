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

// Returns the part of an interval that its quantity can take. The interval of a mean may reach beyond 0, or beyond
// 100 %; the values cannot.
export function possible(span: Span | null, least: number, most = Infinity): Span | null {
  return span && { low: Math.max(least, span.low), high: Math.min(most, span.high) };
}

// Draws a horizontal whisker in every row that has an interval.
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

// Draws a pale band behind the middle of every row that has a range of plausible machines. A band that leaves the
// chart at `edge` ends with an arrow.
export function bands_across(
  theme: Theme,
  spans: readonly (Span | null)[],
  edge: number,
): Record<string, unknown>[] {
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
        const [to = 0] = api.coord([Math.min(high, edge), row]);
        const style = { fill: theme.ink, opacity: 0.3 };
        const head = high > edge ? 8 : 0;
        const shape = { x, y: y + 5, width: Math.max(1, to - head - x), height: 5 };
        const points = [
          [to - head, y + 2],
          [to, y + 7.5],
          [to - head, y + 13],
        ];
        return {
          type: "group" as const,
          children: [
            { type: "rect" as const, shape, style },
            ...(head > 0 ? [{ type: "polygon" as const, shape: { points }, style }] : []),
          ],
        };
      },
    },
  ];
}
