// Shopping: what to buy.
import type { Context } from "../context.ts";
import { h } from "../dom.ts";

export function shopping(context: Context): void {
  for (const { name, place } of context.report.after.shopping) {
    const items = place.at("items").items.map((item) => h("li", {}, item.at("what").text ?? ""));
    context.main.append(h("h2", {}, name), h("ul", {}, ...items));
  }
}
