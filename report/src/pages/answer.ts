// A card with the main result of an input: what meets the targets, the price and the certainty, with a chart
// and a diagram of the machine.
import type { Context } from "../context.ts";
import { h, type Child } from "../dom.ts";
import type { Figure } from "../figure.ts";
import { machine_figure, type MachineLoad } from "../machine.ts";

export interface Fact {
  name: string;
  text: string;
  note?: string;
  mark?: "good" | "bad";
}

function fact(one: Fact): HTMLElement {
  return h(
    "div",
    { class: "fact" },
    h("dt", {}, one.name),
    h(
      "dd",
      {},
      h(
        "span",
        { class: ["value", one.mark, one.text.length > 24 && "long"].filter(Boolean).join(" ") },
        one.text,
      ),
      one.note ? h("span", { class: "note" }, one.note) : null,
    ),
  );
}

interface Card {
  title: string; // "": the page has only one answer
  facts: readonly Fact[];
  figure: Figure | null;
  load: MachineLoad | null;
  of: string; // the setting whose machine is drawn
  controls?: Child; // for choosing that setting
}

export function answer_card(context: Context, card: Card): void {
  // When all pages are printed, they are in one document, so ids must be unique across pages.
  const own = (id: string) => (context.page === "overview" ? `overview-${id}` : id);
  const picture = card.load ? machine_figure(context.theme, card.load, card.of, card.controls) : null;
  const grid = h("div", { class: picture ? "answer" : "answer single" });
  context.main.append(
    h(
      "div",
      { class: "card" },
      card.title === "" ? null : h("h2", {}, card.title),
      h("dl", { class: "facts-row" }, card.facts.map(fact)),
      grid,
    ),
  );
  if (card.figure) context.draw(grid, { ...card.figure, id: own(card.figure.id) });
  if (picture) {
    picture.id = own(picture.id);
    grid.append(picture);
  }
}
