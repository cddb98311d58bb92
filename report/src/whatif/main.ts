// The page of kvcap whatif: what fits on a GPU and how fast contexts are restored, computed as inputs change.
import { button, h } from "../dom.ts";
import { Palette, preferred_mode, remember_mode, type Mode } from "../theme.ts";
import { hash_of, memory_of, restorations_of, setting_of, type Catalogue, type Setting } from "./answers.ts";
import { FormView } from "./form.ts";
import { MapView } from "./map.ts";
import { memory_view, summary_view } from "./memory.ts";
import { load_module, type Ask } from "./module.ts";
import { restorations_view } from "./restorations.ts";

const app = document.getElementById("app")!;
const delay_ms = 120;

class Page {
  private mode: Mode = preferred_mode();
  private setting = setting_of(location.hash);
  private timer = 0;
  private map: MapView | null = null;
  private readonly form: FormView;
  private readonly palette: Palette;
  private readonly summaries: Map<string, string>;
  private readonly result = h("div", { id: "result" });
  private readonly toggle = button("", { id: "theme", class: "plain" }, () => this.switch_mode());

  constructor(
    private readonly ask: Ask,
    private readonly catalogue: Catalogue,
  ) {
    this.palette = new Palette(catalogue.policies.map(({ name }) => name));
    this.summaries = new Map(catalogue.policies.map(({ name, summary }) => [name, summary]));
    this.form = new FormView(catalogue, this.setting, (setting) => this.change(setting));
    app.replaceChildren(
      h(
        "header",
        {},
        h("div", { class: "title" }, h("span", { class: "brand" }, "kvcap"), "what fits"),
        h(
          "div",
          { class: "tools" },
          h("span", { class: "quiet" }, `kvcap ${catalogue.kvcap_version}`),
          this.toggle,
        ),
      ),
      h("main", {}, this.form.element, this.result),
    );
    addEventListener("hashchange", () => {
      if (location.hash === hash_of(this.setting)) return;
      this.setting = setting_of(location.hash);
      void this.draw();
    });
  }

  async draw(): Promise<void> {
    this.setting = { ...this.setting, tier: this.tier() };
    document.documentElement.dataset.theme = this.mode;
    const other = this.mode === "dark" ? "Light" : "Dark";
    this.toggle.textContent = other;
    this.toggle.setAttribute("aria-label", `Switch to ${other.toLowerCase()} colours`);
    this.form.draw(this.setting);
    this.map?.stop();
    const focused = document.activeElement?.id ?? "";
    const map = this.draw_answers();
    if (focused.startsWith("policy-")) document.getElementById(focused)?.focus({ preventScroll: true });
    this.map = map;
    await map?.draw();
    if (map === this.map) document.documentElement.dataset.drawn = String(Math.round(performance.now()));
  }

  // Draws everything except the cells of the map. Returns the map; null if there is none.
  private draw_answers(): MapView | null {
    const { ask, mode, palette, setting, summaries } = this;
    const memory = memory_of(ask, setting);
    if (typeof memory === "string") return this.fail(memory);
    const restorations = restorations_of(ask, setting);
    const link = this.hardware()?.tiers.find(({ name }) => name === setting.tier);
    const map =
      link === undefined || setting.policies.length === 0
        ? null
        : new MapView({ ask, mode, palette, setting, link, longest: memory.sizes.max_position_embeddings });
    const choose = (policy: string, is_chosen: boolean) => this.choose(policy, is_chosen);
    this.result.replaceChildren(
      summary_view(memory, setting.tokens),
      memory_view(memory, mode),
      typeof restorations === "string"
        ? h("p", { class: "error", role: "alert" }, restorations)
        : restorations_view(restorations, { mode, palette, setting, summaries, choose }),
      ...(map === null ? [] : [map.element]),
      this.commands(),
    );
    return map;
  }

  private fail(error: string): null {
    this.result.replaceChildren(h("p", { class: "error", role: "alert" }, error));
    return null;
  }

  // Returns the commands that print the same numbers.
  private commands(): HTMLElement {
    const { model, gpu, gpus, engine, tokens, new_tokens, tier } = this.setting;
    const machine = `--model ${model} --hardware ${gpu} --gpus ${gpus}`;
    const stored = tier === "" ? "" : ` --tier ${tier}`;
    return h(
      "section",
      { "aria-labelledby": "commands-title" },
      h("h2", { id: "commands-title" }, "The same numbers on a terminal"),
      h(
        "div",
        { class: "command", id: "commands" },
        `kvcap show memory ${machine} --engine ${engine}\n` +
          `kvcap restore ${machine} --tokens ${tokens} --new-tokens ${new_tokens}${stored}`,
      ),
    );
  }

  private choose(policy: string, is_chosen: boolean): void {
    const chosen = new Set(this.setting.policies);
    if (is_chosen) chosen.add(policy);
    else chosen.delete(policy);
    this.change({ ...this.setting, policies: [...chosen] });
  }

  private change(setting: Setting): void {
    delete document.documentElement.dataset.drawn;
    this.setting = setting;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      void this.draw();
      history.replaceState(null, "", hash_of(this.setting));
    }, delay_ms);
  }

  private hardware() {
    return this.catalogue.hardware.find(({ name }) => name === this.setting.gpu);
  }

  // Returns the setting's tier or, if the machine lacks it, the machine's first tier.
  private tier(): string {
    const tiers = this.hardware()?.tiers ?? [];
    return tiers.some(({ name }) => name === this.setting.tier) ? this.setting.tier : (tiers[0]?.name ?? "");
  }

  private switch_mode(): void {
    this.mode = this.mode === "dark" ? "light" : "dark";
    remember_mode(this.mode);
    void this.draw();
  }
}

load_module(document.getElementById("module")!.textContent!)
  .then((ask) => {
    // Lets tests and other scripts in this page ask the same questions as kvcap whatif --ask.
    Object.assign(globalThis, { kvcap: ask });
    return new Page(ask, ask({ ask: "catalogue" }) as Catalogue).draw();
  })
  .catch((error: unknown) => {
    app.replaceChildren(
      h("p", { class: "error", role: "alert" }, `This browser cannot show the page: ${error}`),
    );
  });
