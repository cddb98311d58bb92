// Diagram of the machine: the GPU, the tiers below it and the links between them, each with its traffic and
// how busy it is, so that the bottleneck is visible.
import { h, svg, type Child } from "./dom.ts";
import { id_of, table_below } from "./figure.ts";
import { axis_label, brief, list, quantity, show } from "./format.ts";
import type { Place } from "./place.ts";
import { tier_title, title_of } from "./quantities.ts";
import { cell, words, type Cell, type Table } from "./table.ts";
import type { Theme } from "./theme.ts";

const wide = 420;
const percent = { symbol: "%", scale: 100 };
const rate = { symbol: "GB/s", scale: 1e-9 };

// The machine and the metrics of one setting.
export class MachineLoad {
  constructor(
    readonly hardware: Place,
    readonly metric: (name: string) => Place,
  ) {}

  // Reads {scenario: {hardware}, metrics}: a result, or the `machine` of a plan result or a capacity result.
  static of(place: Place): MachineLoad {
    return new MachineLoad(place.at("scenario", "hardware"), (name) => place.at("metrics").metric(name));
  }

  number(name: string): number {
    return this.metric(name).number ?? 0;
  }
  busy(resource: string): number {
    return this.number(`utilization.${resource}`);
  }
  // Returns the bytes per second read from or written to a tier, averaged over the run.
  flow(kind: "read" | "written", tier: string): number {
    const seconds = this.number("duration");
    return seconds > 0 ? this.number(`${kind}_bytes.${tier}`) / seconds : 0;
  }
  get busiest(): string {
    return this.metric("bound_by").text ?? "";
  }
  // What arrives, as a share of what the machine serves; null if that is not known.
  get offered(): number | null {
    return this.metric("offered_load").number;
  }
  get is_saturated(): boolean {
    return this.metric("stable.verdict").text === "saturated";
  }
  get is_known(): boolean {
    return this.metric("utilization.gpu").exists;
  }
}

// Utilization from which a resource is near its limit. The busiest resource of an idle machine is no
// bottleneck.
const near_limit = 0.5;

interface TierBox {
  tier: string;
  title: string;
  size: string;
  up: string; // resource that serves reads
  down: string; // resource that serves writes; the same as `up` if one resource serves both
}

function tier_boxes(load: MachineLoad): TierBox[] {
  const { hardware } = load;
  const boxes: TierBox[] = [];
  const dram = hardware.at("dram", "capacity_bytes").number;
  if (dram) boxes.push({ tier: "dram", title: "DRAM", size: quantity(dram, "B"), up: "dram", down: "dram" });
  const count = hardware.at("ssd", "count").number ?? 0;
  const each = hardware.at("ssd", "capacity_bytes").number ?? 0;
  if (count > 0)
    boxes.push({
      tier: "ssd",
      title: count > 1 ? `${brief(count)} SSDs` : "SSD",
      size: quantity(count * each, "B"),
      up: "ssd_read",
      down: "ssd_write",
    });
  if (hardware.at("remote").exists)
    boxes.push({ tier: "remote", title: tier_title("remote"), size: "", up: "remote", down: "remote" });
  return boxes;
}

class Picture {
  private readonly parts: Child[] = [];

  constructor(
    private readonly theme: Theme,
    private readonly load: MachineLoad,
    private readonly boxes: readonly TierBox[],
  ) {}

  private paint(share: number): string {
    const { theme } = this;
    if (share >= 0.8) return theme.bad;
    return share >= near_limit ? theme.warm : theme.accent;
  }

  private text(x: number, y: number, text: string, more: Record<string, string | number> = {}): void {
    this.parts.push(svg("text", { x, y, fill: this.theme.ink, "font-size": 12, ...more }, text));
  }

  // Draws a box: bold if it is the busiest resource, dashed if it is not used.
  private box(
    x: number,
    y: number,
    width: number,
    height: number,
    resource: string[],
    used: boolean,
    heat = this.load.busy(this.load.busiest),
  ): void {
    const { theme, load } = this;
    const marked = resource.includes(load.busiest);
    this.parts.push(
      svg("rect", {
        x,
        y,
        width,
        height,
        rx: 4,
        fill: theme.paper,
        stroke: marked ? this.paint(heat) : theme.quiet,
        "stroke-width": marked ? 3 : 1,
        "stroke-dasharray": used ? null : "3 3",
      }),
    );
  }

  private bar(x: number, y: number, width: number, share: number, colour: string): void {
    const filled = Math.max(0, Math.min(1, share)) * width;
    this.parts.push(
      svg("rect", { x, y, width, height: 7, fill: this.theme.line }),
      svg("rect", { x, y, width: filled, height: 7, fill: colour }),
    );
  }

  // Draws an arrow whose thickness and colour show how busy the link is.
  private arrow(x: number, from: number, to: number, share: number, flows: boolean): void {
    const { theme } = this;
    const colour = flows ? this.paint(share) : theme.line;
    const thick = flows ? 2 + 8 * Math.min(1, share) : 1.5;
    const head = flows ? 5 + thick / 2 : 4;
    const sign = Math.sign(to - from);
    const base = to - sign * 8;
    this.parts.push(
      svg("line", { x1: x, y1: from, x2: x, y2: base, stroke: colour, "stroke-width": thick }),
      svg("polygon", { points: `${x - head},${base} ${x + head},${base} ${x},${to}`, fill: colour }),
    );
  }

  private label(x: number, y: number, resource: string, flow: string): void {
    const share = this.load.busy(resource);
    const text = flow === "" ? `${show(100 * share)} %` : `${flow}, ${show(100 * share)} %`;
    this.text(x, y, text, {
      "font-size": 11,
      fill: share >= near_limit ? this.paint(share) : this.theme.ink,
    });
  }

  private gpu(): void {
    const { load } = this;
    const gpu = load.hardware.at("gpu");
    const count = gpu.at("count").number ?? 1;
    // A step runs whenever a sequence is active, however few there are: the load says how hot the GPUs are.
    const busy = load.busy("gpu");
    const heat = load.offered ?? busy;
    const step = `a step runs ${show(100 * busy)} % of the time`;
    const between = this.gpus_exchange;
    this.box(1.5, 1.5, wide - 3, between ? 84 : 66, ["gpu", "nvlink"], true, heat);
    this.text(12, 20, `${brief(count)}x ${gpu.at("name").text ?? "GPU"}`, { "font-weight": 600 });
    const right = load.offered === null ? step : `load ${show(100 * heat)} % of capacity`;
    this.text(wide - 12, 20, right, { "text-anchor": "end" });
    this.bar(12, 28, wide - 24, heat, this.paint(heat));
    const [peak, room] = [load.number("peak_kv_tokens"), load.number("kv_capacity_tokens")];
    const small = { "font-size": 11 };
    if (room > 0)
      this.text(12, 55, `KV peak ${show((100 * peak) / room)} % of ${axis_label(room)} tokens`, small);
    if (load.offered !== null) this.text(wide - 12, 55, step, { ...small, "text-anchor": "end" });
    if (!between) return;
    const link = load.hardware.at("nvlink").exists && !load.hardware.at("peer").exists ? "NVLink" : "PCIe";
    this.text(12, 73, `between the GPUs, ${link}: ${show(100 * load.busy("nvlink"))} %`);
  }

  private get gpus_exchange(): boolean {
    return (this.load.hardware.at("gpu", "count").number ?? 1) > 1 && this.load.busy("nvlink") > 0;
  }

  private bus(y: number): void {
    const { load, theme } = this;
    const [up, down] = [load.busy("pcie_h2d"), load.busy("pcie_d2h")];
    this.arrow(110, y + 44, y + 2, up, up > 0);
    this.arrow(250, y + 2, y + 44, down, down > 0);
    this.text(124, y + 20, "to the GPU", { "font-size": 11, fill: theme.quiet });
    this.text(264, y + 20, "from the GPU", { "font-size": 11, fill: theme.quiet });
    this.label(124, y + 34, "pcie_h2d", "");
    this.label(264, y + 34, "pcie_d2h", "");
    const is_busiest = ["pcie_h2d", "pcie_d2h"].includes(load.busiest);
    const stroke = is_busiest ? this.paint(load.busy(load.busiest)) : theme.quiet;
    const x2 = wide - 1.5;
    this.parts.push(
      svg("line", { x1: 1.5, y1: y + 47, x2, y2: y + 47, stroke, "stroke-width": is_busiest ? 5 : 3 }),
    );
    this.text(12, y + 34, "PCIe", { "font-weight": 600 });
  }

  private tier(box: TierBox, x: number, y: number, width: number): void {
    const { load, theme } = this;
    const [read, written] = [load.flow("read", box.tier), load.flow("written", box.tier)];
    const stored = load.number(`peak_stored_bytes.${box.tier}`);
    const used = read + written + stored > 0;
    const flow = (bytes: number) => quantity(bytes, "B/s");
    this.arrow(x + 14, y + 58, y + 4, load.busy(box.up), read > 0);
    this.arrow(x + 30, y + 4, y + 58, load.busy(box.down), written > 0);
    if (read > 0) this.label(x + 44, y + 24, box.up, `\u25b2 ${flow(read)}`);
    if (written > 0) this.label(x + 44, y + 42, box.down, `\u25bc ${flow(written)}`);
    this.box(x + 1.5, y + 60, width - 3, 54, [box.up, box.down], used);
    this.text(x + 10, y + 78, `${box.title}${box.size === "" ? "" : `, ${box.size}`}`, {
      "font-weight": 600,
      fill: used ? theme.ink : theme.quiet,
    });
    const text = used ? `at most ${quantity(stored, "B")} stored` : "not used";
    this.text(x + 10, y + 95, text, { "font-size": 11, fill: theme.quiet });
  }

  draw(says: string): SVGElement {
    this.gpu();
    const used = this.boxes.length > 0;
    const top = this.gpus_exchange ? 86 : 68;
    if (used) this.bus(top);
    const width = wide / Math.max(1, this.boxes.length);
    this.boxes.forEach((box, at) =>
      this.tier(box, at * width, top + 48, width - (at + 1 < this.boxes.length ? 8 : 0)),
    );
    const height = used ? top + 164 : top + 4;
    return svg("svg", { viewBox: `0 0 ${wide} ${height}`, role: "img", "aria-label": says }, this.parts);
  }
}

// Returns what limits a saturated machine, or what is busiest in one that serves its load, as a sentence.
function verdict(load: MachineLoad): string {
  const { busiest, offered } = load;
  const share = load.busy(busiest);
  if (busiest === "" || share === 0) return "No part of the machine is busy.";
  const name = title_of(`${busiest}_utilization`);
  const what = offered === null ? "" : ` The load is ${show(100 * offered)} % of what the machine can serve.`;
  if (load.is_saturated) return `More arrives than is served; the bottleneck is ${name}.${what}`;
  return `Busiest: ${name}, ${show(100 * share)} % of the time.${what}`;
}

function load_table(load: MachineLoad, boxes: readonly TierBox[]): Table {
  const resources = ["gpu", "pcie_h2d", "pcie_d2h", "nvlink", ...boxes.flatMap(({ up, down }) => [up, down])];
  const flow_of = (resource: string): Cell => {
    const box = boxes.find(({ up, down }) => up === resource || down === resource);
    if (!box) return words("\u2013");
    const value = load.flow(box.down === resource && box.up !== resource ? "written" : "read", box.tier);
    return { text: show(value * rate.scale), value, scale: rate.scale };
  };
  return {
    columns: [{ name: "Resource" }, { name: "Busy", unit: "%" }, { name: "Flow", unit: rate.symbol }],
    rows: [...new Set(resources)]
      .filter((one) => load.metric(`utilization.${one}`).exists)
      .map((one) => [
        words(title_of(`${one}_utilization`)),
        cell(load.metric(`utilization.${one}`), percent),
        flow_of(one),
      ]),
  };
}

// Returns the figure of a setting's machine; null if the data lacks utilizations.
export function machine_figure(
  theme: Theme,
  load: MachineLoad,
  of: string,
  controls?: Child,
): HTMLElement | null {
  if (!load.is_known) return null;
  const boxes = tier_boxes(load);
  const said = verdict(load);
  const parts = boxes.map(({ title, up }) => `${title} reads busy ${show(100 * load.busy(up))} %`);
  const says = `${said} A step runs ${show(100 * load.busy("gpu"))} % of the time${parts.length > 0 ? `; ${list(parts)}` : ""}.`;
  const title = of === "" ? "The machine" : `The machine with ${of}`;
  const table = { id: id_of("machine", of), title, table: () => load_table(load, boxes) };
  return h(
    "figure",
    { id: table.id, class: "machine" },
    h(
      "figcaption",
      {},
      h("h2", {}, title),
      controls ? h("div", { class: "controls" }, controls) : null,
      h("p", { class: "note" }, said),
    ),
    new Picture(theme, load, boxes).draw(says),
    h("div", { class: "tools" }, table_below(table)),
  );
}
