// The sentences about a page: the first few are shown, the others on request.
import type { Context } from "../context.ts";
import { h } from "../dom.ts";
import { parse_link } from "../link.ts";

const most_shown = 3;

// Draws all sentences except the first one, which is already below the page's title.
export function more_sentences(context: Context): void {
  const more = context.sentences().slice(1);
  const few = more.splice(0, most_shown);
  context.main.append(...few.map((sentence) => h("p", { class: "more" }, sentence)));
  if (more.length === 0) return;
  context.main.append(
    h(
      "details",
      { class: "rest", open: parse_link(location.hash).page === "all" },
      h("summary", {}, more.length === 1 ? "1 more sentence" : `${more.length} more sentences`),
      more.map((sentence) => h("p", {}, sentence)),
    ),
  );
}
