// Says what the inputs do not hold, so that an absent chart is not taken for an absent effect.
import type { Context } from "../context.ts";
import { h } from "../dom.ts";

export function missing(context: Context, what: string): void {
  context.add(
    h(
      "p",
      { class: "note" },
      `Not in these files: ${what}. They were written by another version or without it.`,
    ),
  );
}
