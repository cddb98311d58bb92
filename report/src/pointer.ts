// Follows the pointer in charts of points or threads (the lines of parallel coordinates), and shows the
// tooltip of the nearest point or thread.
import type { echarts } from "./charts/engine.ts";

type Chart = ReturnType<typeof echarts.init>;
type Spot = [number, number];

export interface SeriesLike {
  type?: string;
  silent?: boolean;
  data?: unknown[];
}

interface Found {
  series: number;
  item: number;
}

const value_of = (item: unknown): unknown[] =>
  (Array.isArray(item) ? item : ((item as { value?: unknown[] } | null)?.value ?? [])) as unknown[];

// Returns the item nearest to the pointer.
function nearest_dot(spots: readonly (Found & { at: Spot })[], [x, y]: Spot): Found | null {
  let best: Found | null = null;
  let least = Infinity;
  for (const { at, series, item } of spots) {
    const distance = (at[0] - x) ** 2 + (at[1] - y) ** 2;
    if (distance < least) [least, best] = [distance, { series, item }];
  }
  return best;
}

function spots_of(chart: Chart, all: readonly SeriesLike[]): (Found & { at: Spot })[] {
  return all.flatMap((one, series) =>
    one.silent
      ? []
      : (one.data ?? []).flatMap((each, item) => {
          const at = chart.convertToPixel({ seriesIndex: series }, value_of(each).slice(0, 2) as Spot);
          return Array.isArray(at) && at.every(Number.isFinite) ? [{ series, item, at: at as Spot }] : [];
        }),
  );
}

interface ParallelSystem {
  dimensions: string[];
  dataToPoint: (value: unknown, dimension: string) => Spot;
}

// Returns the coordinate system of a parallel chart, from ECharts' internals: it has no public function that
// maps a value of a parallel axis to a pixel.
function parallel_system(chart: Chart): ParallelSystem | null {
  interface Model {
    getComponent: (name: string) => { coordinateSystem?: ParallelSystem } | undefined;
  }
  const model = (chart as unknown as { getModel?: () => Model }).getModel?.();
  return model?.getComponent("parallel")?.coordinateSystem ?? null;
}

// Returns every thread's points, one per axis; null where a thread has no value.
function threads_of(chart: Chart, data: readonly unknown[]): (Spot | null)[][] {
  const system = parallel_system(chart);
  if (!system) return [];
  return data.map((each) =>
    value_of(each).map((value, at) => {
      const dimension = system.dimensions[at];
      return value === "-" || dimension === undefined ? null : system.dataToPoint(value, dimension);
    }),
  );
}

// Returns the thread that passes nearest above or below the pointer.
function nearest_thread(threads: readonly (Spot | null)[][], [x, y]: Spot): Found | null {
  let best: Found | null = null;
  let least = Infinity;
  threads.forEach((points, item) => {
    for (let at = 0; at + 1 < points.length; ++at) {
      const [from, to] = [points[at], points[at + 1]];
      if (!from || !to || x < from[0] || x > to[0]) continue;
      const height = from[1] + ((to[1] - from[1]) * (x - from[0])) / (to[0] - from[0]);
      if (Math.abs(height - y) < least) [least, best] = [Math.abs(height - y), { series: 0, item }];
    }
  });
  return best;
}

type Formatter = (at: { seriesIndex: number; dataIndex: number }) => HTMLElement;

// Highlights the item nearest to the pointer and shows its tooltip. A click calls `picked` with the nearest
// item.
export function follow_pointer(
  chart: Chart,
  all: readonly SeriesLike[],
  formatter: Formatter,
  picked?: (pick: Found) => void,
): void {
  const is_parallel = all[0]?.type === "parallel";
  let drawn_width = -1;
  let find: (at: Spot) => Found | null = () => null;
  let shown: Found | null = null;
  const prepare = (): void => {
    if (chart.getWidth() === drawn_width) return;
    drawn_width = chart.getWidth();
    if (is_parallel) {
      const threads = threads_of(chart, all[0]?.data ?? []);
      find = (at) => nearest_thread(threads, at);
    } else {
      const spots = spots_of(chart, all);
      find = (at) => (chart.containPixel("grid", at) ? nearest_dot(spots, at) : null);
    }
  };
  const hide = (): void => {
    if (!shown) return;
    chart.dispatchAction({ type: "downplay", seriesIndex: shown.series, dataIndex: shown.item });
    chart.dispatchAction({ type: "hideTip" });
    shown = null;
  };
  const zr = chart.getZr();
  zr.on("mousemove", ({ offsetX: x, offsetY: y }) => {
    prepare();
    const found = find([x, y]);
    if (!found) return hide();
    const where = { seriesIndex: found.series, dataIndex: found.item };
    if (shown?.series !== found.series || shown.item !== found.item) {
      hide();
      chart.dispatchAction({ type: "highlight", ...where });
      shown = found;
    } else if (!is_parallel) return;
    const tooltip = { formatter: () => formatter(where) };
    chart.dispatchAction({ type: "showTip", ...(is_parallel ? { x, y, tooltip } : where) });
  });
  zr.on("globalout", hide);
  if (picked)
    zr.on("click", ({ offsetX, offsetY }) => {
      prepare();
      const found = find([offsetX, offsetY]);
      if (found) picked(found);
    });
}
