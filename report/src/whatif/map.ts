// The break-even map: which policy restores a context fastest, by its length and the bandwidth of its tier.
import { h } from "../dom.ts";
import { brief, show } from "../format.ts";
import { Palette, type Mode } from "../theme.ts";
import { map_row_of, type Setting, type TierLink } from "./answers.ts";
import type { Ask } from "./module.ts";
import { seconds } from "./restorations.ts";

const factors = [1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16];
const shortest = 512;
const most_rows = 9;

// Returns the lengths of the rows: powers of two up to the model's longest sequence.
export function lengths_of(longest: number): number[] {
  const lengths: number[] = [];
  for (let tokens = shortest; tokens <= longest && lengths.length < most_rows; tokens *= 2)
    lengths.push(tokens);
  return lengths.length > 0 ? lengths : [longest];
}

interface Winner {
  index: number;
  is_tied: boolean; // another policy takes the same time
  lead: number; // time of the next slower policy divided by the winner's; NaN: no slower policy
}

// Times whose ratio is smaller are a tie: policies that restore in the same way have nearly equal closed
// forms.
const tied = 1.005;

// Returns the fastest policy; null if no policy can restore the context.
export function winner_of(times: readonly (number | null)[]): Winner | null {
  const order = times
    .map((time, index) => ({ time: time ?? Infinity, index }))
    .filter(({ time }) => Number.isFinite(time))
    .sort((a, b) => a.time - b.time);
  const first = order[0];
  if (first === undefined) return null;
  const slower = order.find(({ time }) => time >= tied * first.time);
  const is_tied = order.length > 1 && order[1]! !== slower;
  return { index: first.index, is_tied, lead: (slower?.time ?? NaN) / first.time };
}

// Returns the text colour on a background: black or white, whichever has more contrast.
function ink_on(colour: string): string {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const share = parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const light = 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
  return 1.05 / (light + 0.05) > (light + 0.05) / 0.05 ? "#ffffff" : "#000000";
}

export interface MapOptions {
  ask: Ask;
  mode: Mode;
  palette: Palette;
  setting: Setting;
  link: TierLink;
  longest: number; // tokens of the model's longest sequence
}

export class MapView {
  readonly element: HTMLElement;
  private readonly body = h("tbody", {});
  private is_stopped = false;

  constructor(private readonly options: MapOptions) {
    const { setting, link } = options;
    const head = h(
      "tr",
      {},
      h("th", { scope: "col" }, "tokens \\ GB/s"),
      this.bandwidths().map((value, index) =>
        h(
          "th",
          { scope: "col", class: "number", "aria-label": `${brief(value / 1e9)} GB/s` },
          brief(value / 1e9),
          factors[index] === 1 ? h("span", { class: "quiet" }, " *") : null,
        ),
      ),
    );
    this.element = h(
      "section",
      { "aria-labelledby": "map-title" },
      h("h2", { id: "map-title" }, "Break-even map"),
      h(
        "p",
        { class: "note" },
        `The fastest of ${setting.policies.join(", ")}, with the TTFT of the next slower policy divided by its own; = marks a tie, of which the first policy is shown. Across: ${link.bandwidth_path}; * marks this machine's value. Down: tokens of context.`,
      ),
      this.legend(),
      h("div", { class: "pan", tabindex: 0, role: "group", "aria-label": "Break-even map" }, [
        h("table", { class: "map" }, h("thead", {}, head), this.body),
      ]),
    );
  }

  stop(): void {
    this.is_stopped = true;
  }

  // Computes one row at a time, so that the page stays responsive. stop() ends the computation.
  async draw(): Promise<void> {
    const { ask, setting, link, longest } = this.options;
    for (const tokens of lengths_of(longest)) {
      await new Promise((resume) => setTimeout(resume));
      if (this.is_stopped) return;
      const answer = map_row_of(ask, setting, tokens, link.bandwidth_path, this.bandwidths());
      const cells = typeof answer === "string" ? [] : answer.rows[0]!;
      this.body.append(
        h(
          "tr",
          {},
          h("th", { scope: "row" }, show(tokens)),
          cells.map((times, column) => this.cell(times, tokens, factors[column] === 1)),
        ),
      );
    }
  }

  private bandwidths(): number[] {
    return factors.map((factor) => factor * this.options.link.bandwidth_bytes_per_s);
  }

  private cell(times: readonly (number | null)[], tokens: number, is_machine: boolean): HTMLElement {
    const { setting, palette, mode } = this.options;
    const won = winner_of(times);
    if (won === null) return h("td", { class: "quiet" }, "\u2013");
    const colour = palette.of(setting.policies[won.index]!)[mode];
    const title = setting.policies
      .map((policy, index) => `${policy} ${times[index] == null ? "cannot" : seconds(times[index]!)}`)
      .join(", ");
    const is_here = is_machine && tokens === setting.tokens;
    const lead = `${won.is_tied ? "= " : ""}${Number.isNaN(won.lead) ? "" : `${show(won.lead)}x`}`;
    const cell = h(
      "td",
      { class: is_here ? "here" : null, title },
      h("span", { class: "visually-hidden" }, `${setting.policies[won.index]} `),
      lead,
    );
    cell.style.background = colour;
    cell.style.color = ink_on(colour);
    return cell;
  }

  private legend(): HTMLElement {
    const { setting, palette, mode } = this.options;
    return h(
      "div",
      { class: "key" },
      setting.policies.map((policy) => {
        const swatch = h("i");
        swatch.style.background = palette.of(policy)[mode];
        return h("span", {}, swatch, policy);
      }),
    );
  }
}
