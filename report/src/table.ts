// Tables of the charts' numbers. A cell keeps the exact number and its path in the data.
import { h } from "./dom.ts";
import { show, show_interval } from "./format.ts";
import type { Place } from "./place.ts";
import { unit_of, type Unit } from "./quantities.ts";

export interface Cell {
  text: string;
  value: number | null; // as in the JSON; null: the cell is a text
  scale: number; // shown number = value * scale
  from?: string; // path of the value in the data
  mark?: "best" | "good" | "bad";
}

export interface Column {
  name: string;
  unit?: string;
}

export interface Table {
  columns: Column[];
  rows: Cell[][]; // the first cell is the row's name
}

export function words(text: string): Cell {
  return { text, value: null, scale: 1 };
}

export function cell(
  place: Place,
  unit: Unit = { symbol: "", scale: 1 },
  half_width: number | null = null,
): Cell {
  const value = place.number;
  if (typeof place.value === "boolean") return words(place.value ? "yes" : "no");
  if (value === null) return words(place.text ?? "\u2013");
  const half = half_width === null ? null : half_width * unit.scale;
  return { text: show_interval(value * unit.scale, half), value, scale: unit.scale, from: place.path };
}

export function metric_cell(place: Place, name: string, half_width: number | null = null): Cell {
  return cell(place, unit_of(name), half_width);
}

// Returns a cell with a number that the page has computed.
export function derived(value: number | null, scale = 1): Cell {
  return { text: show(value === null ? null : value * scale), value, scale };
}

function draw_cell(one: Cell): (Node | string)[] {
  const text =
    one.value === null
      ? one.text
      : h("data", { value: one.value, "data-scale": one.scale, "data-from": one.from }, one.text);
  if (one.mark === "best") return [h("strong", {}, text)];
  if (one.mark) return [h("span", { class: one.mark }, text)];
  return one.value === null && is_long_name(one.text) ? breakable(one.text) : [text];
}

const is_long_name = (text: string): boolean => text.length > 18 && !/\s/.test(text);

// Returns a name with possible line breaks after its dots and underscores.
function breakable(name: string): (Node | string)[] {
  return name.split(/(?<=[._])/).flatMap((part) => [part, h("wbr")]);
}

function column_class(table: Table, at: number): string | null {
  if (table.rows.some((row) => row[at]?.value !== null)) return "number";
  const texts = table.rows.map((row) => row[at]?.text ?? "");
  const longest = Math.max(0, ...texts.map((text) => text.length));
  if (longest <= 18) return "short";
  // Lists of numbers break anywhere; words need room.
  return longest > 50 && texts.some((text) => /[a-z]{3}/.test(text)) ? "prose" : null;
}

export function draw_table(
  table: Table,
  caption: string,
  attributes: Record<string, string> = {},
): HTMLElement {
  const classes = table.columns.map((_, at) => column_class(table, at));
  const head = table.columns.map(({ name, unit }, at) =>
    h(
      "th",
      { scope: "col", class: classes[at] },
      breakable(name),
      unit ? h("span", { class: "unit" }, ` ${unit}`) : null,
    ),
  );
  const body = table.rows.map((row) =>
    h(
      "tr",
      {},
      row.map((one, at) =>
        at === 0
          ? h("th", { scope: "row", class: classes[0] }, draw_cell(one))
          : h("td", { class: classes[at] }, draw_cell(one)),
      ),
    ),
  );
  return scroller(
    h(
      "div",
      {
        class: table.rows.length > 40 ? "scroll tall" : "scroll",
        tabindex: 0,
        role: "region",
        "aria-label": caption,
      },
      h(
        "table",
        attributes,
        h("caption", {}, caption),
        h("thead", {}, h("tr", {}, head)),
        h("tbody", {}, body),
      ),
    ),
  );
}

// Returns a scrolling container. If the screen is too narrow for all columns, it shows a hint and fades the
// edge.
export function scroller(area: HTMLElement): HTMLElement {
  const hint = h("p", { class: "hint", "aria-hidden": "true" }, "Scroll sideways for more \u2192");
  const look = (): void => {
    const hidden = area.scrollWidth - area.clientWidth;
    hint.hidden = hidden < 4;
    area.classList.toggle("overflowing", hidden - area.scrollLeft >= 4);
  };
  area.addEventListener("scroll", look, { passive: true });
  new ResizeObserver(look).observe(area);
  hint.hidden = true;
  return h("div", { class: "scroller" }, hint, area);
}
