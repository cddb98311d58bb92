// The card of an answer: who meets the targets, at what price and how sure, its chart, and the machine beside it.
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
  title: string; // "": the page has one answer only
  facts: readonly Fact[];
  figure: Figure | null;
  load: MachineLoad | null;
  of: string; // the setting whose machine is drawn
  controls?: Child; // choose it
}

export function answer_card(context: Context, card: Card): void {
  // All pages are printed into one document, in which an id is unique.
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
