// CommandPanel: shows the command that reproduces the item picked in a chart.
import { button, h, type Child } from "../dom.ts";

export class CommandPanel {
  readonly element = h("div", { "aria-live": "polite", class: "picked" });

  constructor(hint: string) {
    this.element.append(h("p", { class: "note" }, hint));
  }

  show(title: string, command: string, ...more: Child[]): void {
    const copy = button("Copy", { class: "plain" }, () => {
      navigator.clipboard?.writeText(command).then(
        () => (copy.textContent = "Copied"),
        () => (copy.textContent = "Select the text to copy it"),
      );
    });
    this.element.replaceChildren(
      h("p", { class: "note" }, title),
      h("div", { class: "command" }, command),
      h("div", { class: "tools" }, copy, ...more),
    );
  }
}
