// Tells the reader which data the inputs lack, so that a missing chart is not taken for a missing effect.
import type { Context } from "../context.ts";
import { h } from "../dom.ts";

export function missing(context: Context, what: string): void {
  context.add(h("p", { class: "note" }, `Not in these files: ${what}.`));
}
