// Parallel coordinates: one axis per quantity, one line per point of the sweep.
import type { Theme } from "../theme.ts";
import { axis_label, brief } from "../format.ts";
import { base_option, log_ticks, nearest_tooltip, tip } from "./common.ts";
import type { Option } from "./engine.ts";

export interface Dimension {
  name: string;
  unit: string;
  categories?: string[]; // if given, values are indices into this list
  log?: boolean;
}

interface Thread {
  values: (number | null)[];
  colour: string;
  title: string;
}

// Breaks a name into lines of at most 16 characters where it has spaces or dots.
function wrapped(name: string): string {
  const lines = [""];
  for (const word of name.split(/(?<=[ .])/)) {
    const last = lines[lines.length - 1]!;
    if (last !== "" && (last + word).trimEnd().length > 16) lines.push(word);
    else lines[lines.length - 1] = last + word;
  }
  return lines.map((line) => line.trimEnd()).join("\n");
}

// Returns the ends and ticks of a logarithmic axis, which by default begins decades below its values.
function log_options(values: readonly (number | null)[]): Record<string, unknown> {
  const positive = values.filter((value) => value !== null && value > 0) as number[];
  if (positive.length === 0) return {};
  const [min, max] = [Math.min(...positive) / 1.2, Math.max(...positive) * 1.2];
  return { min, max, ticks: { customValues: log_ticks(min, max) } };
}

export function parallel(theme: Theme, dimensions: readonly Dimension[], threads: readonly Thread[]): Option {
  return base_option(theme, {
    parallel: { left: 70, right: 90, top: 64, bottom: 24 },
    parallelAxis: dimensions.map((dimension, dim) => {
      const { ticks = {}, ...ends } = dimension.log
        ? log_options(threads.map(({ values }) => values[dim] ?? null))
        : {};
      return {
        dim,
        ...ends,
        name: wrapped(dimension.unit === "" ? dimension.name : `${dimension.name} (${dimension.unit})`),
        type: dimension.categories ? "category" : dimension.log ? "log" : "value",
        data: dimension.categories,
        scale: true,
        nameGap: 14,
        nameTextStyle: { color: theme.ink, fontSize: 12, lineHeight: 15 },
        axisLine: { lineStyle: { color: theme.quiet } },
        axisTick: { lineStyle: { color: theme.quiet }, ...(ticks as object) },
        axisLabel: {
          color: theme.ink,
          fontSize: 11,
          textBorderColor: theme.paper,
          textBorderWidth: 3,
          hideOverlap: true,
          ...(dimension.categories ? {} : { formatter: (value: number) => axis_label(value) }),
          ...(ticks as object),
        },
        areaSelectStyle: { borderColor: theme.accent, color: theme.accent, opacity: 0.2, width: 18 },
      };
    }),
    ...nearest_tooltip((at) => {
      const thread = threads[at.dataIndex]!;
      const rows = dimensions.map((dimension, index) => {
        const value = thread.values[index] ?? null;
        const text =
          value === null ? "\u2013" : (dimension.categories?.[value] ?? `${brief(value)} ${dimension.unit}`);
        return { name: dimension.name, text };
      });
      return tip(thread.title, rows);
    }),
    series: [
      {
        type: "parallel",
        data: threads.map((thread) => ({
          value: thread.values.map((value, index) =>
            value === null ? "-" : (dimensions[index]?.categories?.[value] ?? value),
          ),
          lineStyle: { color: thread.colour, width: 1.2, opacity: threads.length > 60 ? 0.45 : 0.8 },
        })),
        lineStyle: { width: 1.2 },
        emphasis: { lineStyle: { width: 3, opacity: 1 } },
        inactiveOpacity: 0.04,
      },
    ],
  });
}
