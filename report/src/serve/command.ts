// Shows the command that is equivalent to the form, with buttons to run and to copy it.
import { button, h } from "../dom.ts";
import type { Checked } from "./api.ts";

const most_settings = 6;

// Returns "6 simulations: recompute, hcache".
function summary(settings: string[], simulations: number): string {
  const more = settings.length - most_settings;
  return (
    `${simulations} ${simulations === 1 ? "simulation" : "simulations"}: ` +
    settings.slice(0, most_settings).join(", ") +
    (more > 0 ? ` and ${more} more` : "")
  );
}

export class CommandView {
  private readonly text = h("div", { class: "command", id: "command" }, "...");
  private readonly error = h("p", { class: "error", role: "alert", id: "command-error" });
  private readonly summary = h("p", { class: "note", "aria-live": "polite", id: "command-summary" });
  private readonly copy = button("Copy", { id: "copy" }, () => this.copy_text());
  private readonly run: HTMLButtonElement;
  readonly element: HTMLElement;

  constructor(run: () => void) {
    this.run = button("Run", { id: "run", class: "main" }, run);
    this.element = h(
      "section",
      { "aria-labelledby": "command-title" },
      h("h2", { id: "command-title" }, "Equivalent command"),
      this.text,
      this.error,
      h("div", { class: "bar" }, this.run, this.copy, this.summary),
    );
  }

  // Shows a command with the settings that it would simulate, or its error. `is_shown`: the form shows the
  // error at an input.
  show(checked: Checked, is_shown: boolean): void {
    // Each word is an element, so that lines break between words and not at the hyphens of options.
    const words = checked.command?.split(" ").flatMap((word) => [" ", h("span", {}, word)]);
    if (words !== undefined) this.text.replaceChildren(...words.slice(1));
    this.copy.textContent = "Copy";
    const { error, settings = [], simulations = 0 } = checked;
    this.error.textContent = error === undefined || is_shown ? "" : error;
    this.run.disabled = error !== undefined;
    this.summary.textContent =
      error !== undefined ? (is_shown ? "An input has an error." : "") : summary(settings, simulations);
  }

  refuse(error: string): void {
    this.error.textContent = error;
  }

  private async copy_text(): Promise<void> {
    try {
      await navigator.clipboard.writeText(this.text.textContent ?? "");
      this.copy.textContent = "Copied";
    } catch {
      getSelection()?.selectAllChildren(this.text);
      this.copy.textContent = "Selected: press Ctrl-C";
    }
  }
}
