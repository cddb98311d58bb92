// Figure: a chart with a sentence that describes the chart to readers who cannot see it, a table of its
// numbers, and their CSV.
import { echarts, type Option } from "./charts/engine.ts";
import { save, to_csv } from "./csv.ts";
import { button, h, type Child } from "./dom.ts";
import { follow_pointer, type SeriesLike } from "./pointer.ts";
import { draw_table, scroller, type Table } from "./table.ts";

// An item of a chart, selected with the pointer or the keyboard.
interface Picked {
  series: number;
  item: number;
}

// Returns a figure's id from names that distinguish it from the page's other figures.
export const id_of = (...names: string[]): string => names.join("-").replace(/[^\w-]+/g, "-");

export interface Figure {
  id: string; // used in addresses: #/page?chart=id
  title: string;
  note?: string; // context for reading the chart
  says: string; // describes the content of the chart in a sentence
  height: number;
  option: Option;
  table: () => Table; // built on request
  key?: { name: string; colour: string }[]; // legend of colours that do not stand for policies
  controls?: Child;
  picked?: (pick: Picked) => void;
  below?: Child;
  wide?: boolean;
  min_width?: number; // px; on narrower screens the chart scrolls
}

type Chart = ReturnType<typeof echarts.init>;
let open_charts: Chart[] = [];

export function close_charts(): void {
  for (const chart of open_charts) chart.dispose();
  open_charts = [];
}

export function resize_charts(width?: number): void {
  for (const chart of open_charts) chart.resize(width === undefined ? undefined : { width });
}

// Handles the keyboard: arrow keys move along a series and between series and show the tooltip, Enter
// selects.
function walk_with_keys(
  area: HTMLElement,
  chart: Chart,
  series: SeriesLike[],
  picked?: (pick: Picked) => void,
): void {
  const lists = series
    .map((one, at) => ({ at, size: one.silent ? 0 : (one.data?.length ?? 0) }))
    .filter(({ size }) => size > 0);
  let row = 0;
  let item = -1;
  // A line of parallel coordinates has no point to attach a tooltip to, so it is highlighted instead.
  const show = (seriesIndex: number, dataIndex: number): void => {
    if (series[seriesIndex]?.type === "parallel") {
      chart.dispatchAction({ type: "downplay", seriesIndex });
      chart.dispatchAction({ type: "highlight", seriesIndex, dataIndex });
    } else {
      chart.dispatchAction({ type: "showTip", seriesIndex, dataIndex });
    }
  };
  area.addEventListener("keydown", (event) => {
    const list = lists[row];
    if (!list) return;
    if (event.key === "Escape") {
      chart.dispatchAction({ type: "hideTip" });
      return;
    }
    if (event.key === "Enter" && item >= 0) {
      picked?.({ series: list.at, item });
      return;
    }
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const turn = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined && turn === undefined) return;
    event.preventDefault();
    row = (row + (turn ?? 0) + lists.length) % lists.length;
    const { at, size } = lists[row]!;
    item = Math.min(size - 1, Math.max(0, item + (step ?? 0)));
    show(at, item);
  });
  area.addEventListener("blur", () => chart.dispatchAction({ type: "hideTip" }));
}

// Returns a collapsed table of the figure, which is built when it is opened.
export function table_below(figure: Pick<Figure, "title" | "table">): HTMLElement {
  const details = h("details", {}, h("summary", {}, "Show as table"));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1)
      details.append(draw_table(figure.table(), figure.title));
  });
  return details;
}

function draw_key(key: NonNullable<Figure["key"]>): HTMLElement {
  return h(
    "div",
    { class: "key" },
    key.map(({ name, colour }) => {
      const swatch = h("i");
      swatch.style.background = colour;
      return h("span", {}, swatch, name);
    }),
  );
}

// Draws the figure into `parent`, which must be in the document so that the chart can measure its width.
export function draw_figure(parent: HTMLElement, figure: Figure, link: string): void {
  const area = h("div", { class: "chart", role: "img", tabindex: 0, "aria-label": figure.says });
  area.style.height = `${figure.height}px`;
  if (figure.min_width !== undefined) area.style.minWidth = `${figure.min_width}px`;
  const element = h(
    "figure",
    { id: figure.id, class: figure.wide ? "wide" : null },
    h(
      "figcaption",
      {},
      h("h2", {}, figure.title),
      figure.controls ? h("div", { class: "controls" }, figure.controls) : null,
      figure.note ? h("p", { class: "note" }, figure.note) : null,
      figure.key ? draw_key(figure.key) : null,
    ),
    figure.min_width === undefined ? area : scroller(h("div", { class: "pan" }, area)),
    figure.below,
    h(
      "div",
      { class: "tools" },
      table_below(figure),
      button("CSV", { class: "plain", "aria-label": `Save ${figure.title} as CSV` }, () =>
        save(`${figure.id}.csv`, to_csv(figure.table()), "text/csv"),
      ),
      h("a", { class: "plain", href: link, "aria-label": `Link to ${figure.title}` }, "Link"),
    ),
  );
  parent.append(element);
  const chart = echarts.init(area, undefined, { renderer: "svg" });
  chart.setOption(figure.option);
  open_charts.push(chart);
  const series = [figure.option.series as SeriesLike | SeriesLike[]].flat();
  const { picked } = figure;
  const tooltip = figure.option.tooltip as { triggerOn?: string; formatter: unknown } | undefined;
  if (tooltip?.triggerOn === "none") {
    follow_pointer(chart, series, tooltip.formatter as Parameters<typeof follow_pointer>[2], picked);
  } else if (picked) {
    chart.on("click", (event) => picked({ series: event.seriesIndex ?? 0, item: event.dataIndex }));
  }
  walk_with_keys(area, chart, series, picked);
}
