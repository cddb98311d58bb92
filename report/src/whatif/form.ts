// The inputs of the page. Every change makes a new setting.
import { h } from "../dom.ts";
import type { Catalogue, Hardware, Setting } from "./answers.ts";

type Control = HTMLInputElement | HTMLSelectElement;

const tier_titles: Record<string, string> = { dram: "DRAM", cxl: "CXL memory", ssd: "SSD", remote: "remote" };

export class FormView {
  readonly element = h("form", { id: "form", autocomplete: "off", "aria-label": "Setting" });
  private readonly controls = new Map<string, Control>();

  constructor(
    private readonly catalogue: Catalogue,
    private setting: Setting,
    private readonly changed: (setting: Setting) => void,
  ) {
    this.element.addEventListener("submit", (event) => event.preventDefault());
    const lists = h("datalist", { id: "models" }, options(catalogue.models));
    const gpus = h("datalist", { id: "gpus" }, options(catalogue.hardware.map(({ name }) => name)));
    const number = (most: number) => ({ type: "number", min: 1, max: most, step: 1, inputmode: "numeric" });
    this.element.append(
      h(
        "div",
        { class: "rows" },
        this.row("model", "Model", h("input", { type: "text", list: "models", spellcheck: "false" })),
        this.row("gpu", "GPU or server", h("input", { type: "text", list: "gpus", spellcheck: "false" })),
        this.row("gpus", "GPUs of one engine", h("input", number(1024))),
        this.row("engine", "Engine", h("select", {}, options(catalogue.engines))),
        this.row("tokens", "Context (tokens)", h("input", number(100_000_000))),
        this.row("new_tokens", "New tokens", h("input", number(100_000_000))),
        this.row("tier", "Contexts are stored in", h("select", {})),
      ),
      lists,
      gpus,
    );
  }

  // Shows a setting. A redraw keeps what the user is typing.
  draw(setting: Setting): void {
    this.setting = setting;
    const tier = this.controls.get("tier")!;
    const tiers = this.hardware()?.tiers ?? [];
    tier.replaceChildren(...tiers.map(({ name }) => h("option", { value: name }, tier_titles[name] ?? name)));
    for (const [name, control] of this.controls) {
      const value = String(setting[name as keyof Setting]);
      if (document.activeElement !== control || control instanceof HTMLSelectElement) control.value = value;
      const wrong =
        (name === "model" && !this.catalogue.models.includes(value)) ||
        (name === "gpu" && this.hardware() === undefined);
      control.setAttribute("aria-invalid", String(wrong));
    }
  }

  private hardware(): Hardware | undefined {
    return this.catalogue.hardware.find(({ name }) => name === this.setting.gpu);
  }

  private row(name: keyof Setting, label: string, control: Control): HTMLElement {
    control.id = `input-${name}`;
    this.controls.set(name, control);
    const is_number = control instanceof HTMLInputElement && control.type === "number";
    control.addEventListener("input", () => {
      if (is_number && !control.checkValidity()) return;
      if (control.value === "") return;
      this.setting = { ...this.setting, [name]: is_number ? Number(control.value) : control.value };
      this.changed(this.setting);
    });
    // A list offers only entries that match the text, so a click empties the input to offer all of them.
    if (control.getAttribute("list") !== null) {
      control.addEventListener("click", () => {
        if (control.value !== this.setting[name]) return;
        control.setAttribute("placeholder", control.value);
        control.value = "";
      });
    }
    control.addEventListener("blur", () => this.draw(this.setting));
    return h("div", { class: "row" }, h("label", { for: control.id }, label), control);
  }
}

const options = (names: readonly string[]) => names.map((name) => h("option", { value: name }, name));
