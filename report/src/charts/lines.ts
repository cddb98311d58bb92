// Line chart over a common quantity: distributions, time series, curves.
import type { Style, Theme } from "../theme.ts";
import { axis_name, base_option, colour, tip, with_unit, x_axis, y_axis } from "./common.ts";
import type { Option } from "./engine.ts";

export interface Line {
  name: string;
  style: Style;
  points: [number, number][];
}

interface LinesOptions {
  x: { name: string; unit: string; log?: boolean };
  y: { name: string; unit: string; log?: boolean; min?: number; max?: number };
  symbols?: boolean;
  step?: boolean;
  levels?: { name: string; value: number }[]; // horizontal lines: bounds
  mark?: { name: string; at: number; from: number; to: number }; // a value of x and its interval
}

// True for points that the axes can show: logarithmic axes need positive values.
const drawable = (options: LinesOptions) => (point: [number, number]) =>
  (!options.x.log || point[0] > 0) && (!options.y.log || point[1] > 0);

export function lines(theme: Theme, all: readonly Line[], options: LinesOptions): Option {
  const { x, y } = options;
  const shown = all.map((line) => ({ ...line, points: line.points.filter(drawable(options)) }));
  const ys = shown.flatMap((line) => line.points.map((point) => point[1]));
  const xs = shown.flatMap((line) => line.points.map((point) => point[0]));
  return base_option(theme, {
    xAxis: x_axis(axis_name(x.name, x.unit), theme, {
      log: x.log,
      min: x.log ? Math.min(...xs) : undefined,
      max: Math.max(...xs),
      axis_label: { showMinLabel: true, showMaxLabel: x.log ? true : false },
    }),
    yAxis: y_axis(axis_name(y.name, y.unit), theme, {
      log: y.log,
      min: y.log ? Math.min(...ys) : y.min,
      max: y.log ? Math.max(...ys) : y.max,
    }),
    tooltip: {
      trigger: "item",
      formatter: (at: { seriesName: string; value: [number, number]; color: string }) =>
        tip(at.seriesName, [
          { name: x.name, text: with_unit(at.value[0], x.unit) },
          { name: y.name, text: with_unit(at.value[1], y.unit), colour: at.color },
        ]),
    },
    series: shown.map((line, at) => ({
      type: "line",
      name: line.name,
      data: line.points,
      symbol: options.symbols ? line.style.symbol : "circle",
      symbolSize: options.symbols ? 8 : 5,
      showSymbol: options.symbols ?? false,
      showAllSymbol: true,
      step: options.step ? "end" : false,
      triggerLineEvent: true,
      itemStyle: { color: colour(line.style, theme) },
      lineStyle: { color: colour(line.style, theme), width: 2, type: line.style.dash },
      markLine:
        at === 0 && (options.levels?.length || options.mark)
          ? {
              silent: true,
              symbol: "none",
              lineStyle: { color: theme.quiet, type: "dashed", width: 1 },
              label: {
                color: theme.ink,
                position: "insideEndTop",
                formatter: (mark: { name: string }) => mark.name,
              },
              data: [
                ...(options.levels ?? []).map((level) => ({ name: level.name, yAxis: level.value })),
                ...(options.mark ? [{ name: options.mark.name, xAxis: options.mark.at }] : []),
              ],
            }
          : undefined,
      markArea:
        at === 0 && options.mark
          ? {
              silent: true,
              itemStyle: { color: theme.line, opacity: 0.5 },
              data: [[{ xAxis: options.mark.from }, { xAxis: options.mark.to }]],
            }
          : undefined,
    })),
  });
}
