// The form: an input for each row of the server's list, in groups, and a search that adds any other field.
import { button, h } from "../dom.ts";
import type { Entry, Field, Form, Input } from "./api.ts";
import type { Choices } from "./answers.ts";

// Number of policies that are shown without opening the list.
const few = 5;
const most_found = 12;

// An input with its label, hint and error.
class Row {
  readonly element: HTMLElement;
  private readonly error: HTMLElement;

  constructor(
    readonly name: string,
    label: string,
    unit: string,
    private readonly control: HTMLInputElement | HTMLSelectElement,
    hint: string,
    ...more: Node[]
  ) {
    const id = `input-${name}`;
    control.id = id;
    control.setAttribute("aria-describedby", `${id}-hint ${id}-error`);
    this.error = h("p", { class: "error", id: `${id}-error`, role: "alert" });
    this.element = h(
      "div",
      { class: "row" },
      h("label", { for: id }, label, unit === "" ? null : h("span", { class: "unit" }, ` ${unit}`)),
      control,
      ...more,
      h("p", { class: "note", id: `${id}-hint` }, hint),
      this.error,
    );
  }

  show(value: string, placeholder: string, is_changed: boolean): void {
    if (document.activeElement !== this.control || this.control instanceof HTMLSelectElement)
      this.control.value = value;
    if (this.control instanceof HTMLInputElement) this.control.placeholder = placeholder;
    this.element.classList.toggle("changed", is_changed);
  }

  show_error(text: string): void {
    this.error.textContent = text;
    this.control.setAttribute("aria-invalid", String(text !== ""));
  }
}

const select = (entries: readonly Entry[]) =>
  h(
    "select",
    {},
    entries.map(({ name, summary }) => h("option", { value: name }, name === "" ? summary : name)),
  );

export class FormView {
  readonly element = h("form", { id: "form", autocomplete: "off" });
  private readonly rows = new Map<string, Row>();
  private readonly policies = h("div", { class: "policies" });
  private readonly policies_error = h("p", { class: "error", role: "alert" });
  private readonly added = h("div", { class: "rows" });

  constructor(
    private readonly form: Form,
    private readonly choices: Choices,
    private readonly changed: () => void,
    private readonly change_scenario: (name: string) => void,
  ) {
    this.element.addEventListener("submit", (event) => event.preventDefault());
    const groups = new Map<string, HTMLElement>();
    for (const input of form.inputs) {
      if (input.choices === "policies") {
        this.element.append(
          h("fieldset", {}, h("legend", {}, input.group), this.policies, this.policies_error),
        );
        continue;
      }
      let rows = groups.get(input.group);
      if (rows === undefined) {
        rows = h("div", { class: "rows" });
        groups.set(input.group, rows);
        this.element.append(h("fieldset", {}, h("legend", {}, input.group), rows));
      }
      rows.append(this.add(input).element);
    }
    this.element.append(this.search());
  }

  // Shows the values. A redraw keeps what the user is typing.
  draw(): void {
    this.draw_rows();
    this.draw_policies();
  }

  // Redraws the rows but not the checkboxes of policies: pressing the mouse on a checkbox blurs a row, which
  // redraws the rows, and the checkbox must still exist when the mouse is released.
  private draw_rows(): void {
    for (const [name, row] of this.rows) {
      const is_scenario = name === "scenario";
      const value = is_scenario ? this.choices.scenario : this.choices.value(name);
      row.show(value, this.choices.hint(name), !is_scenario && this.choices.is_changed(name));
    }
  }

  // Shows an error at the input that causes it. Returns false if the form has no such input.
  show_error(name: string, text: string): boolean {
    for (const row of this.rows.values()) row.show_error("");
    this.policies_error.textContent = name === "policies" ? text : "";
    this.rows.get(name)?.show_error(text);
    return name === "policies" || this.rows.has(name);
  }

  private add(input: Input): Row {
    const is_scenario = input.name === "scenario";
    const entries = this.form.choices[input.choices] ?? [];
    const list = `list-${input.choices}`;
    const control = is_scenario
      ? select(entries)
      : h("input", {
          type: "text",
          list: entries.length > 0 ? list : null,
          inputmode: input.kind === "number" ? "decimal" : null,
        });
    const more = is_scenario || entries.length === 0 ? [] : [datalist(list, entries)];
    const row = new Row(input.name, input.title, input.unit, control, input.hint, ...more);
    this.listen(row, control, is_scenario ? this.change_scenario : null);
    return row;
  }

  private listen(
    row: Row,
    control: HTMLInputElement | HTMLSelectElement,
    take: ((value: string) => void) | null,
  ): void {
    this.rows.set(row.name, row);
    control.addEventListener("input", () => {
      if (take !== null) return take(control.value);
      this.choices.set(row.name, control.value);
      this.changed();
    });
    // A list offers only entries that match the text, so a click empties the input to offer all of them.
    if (control.getAttribute("list") !== null) {
      control.addEventListener("click", () => {
        if (control.value !== this.choices.value(row.name)) return;
        control.setAttribute("placeholder", control.value);
        control.value = "";
      });
    }
    // An emptied input shows the scenario's value again.
    control.addEventListener("change", () => control.value === "" && this.draw_rows());
    control.addEventListener("blur", () => this.draw_rows());
  }

  private draw_policies(): void {
    const focused = document.activeElement?.id ?? "";
    const is_open = this.policies.querySelector("details")?.open ?? false;
    const chosen = this.choices.chosen_policies();
    const all = this.form.choices["policies"] ?? [];
    const is_near = (entry: Entry, index: number) => index < few || chosen.has(entry.name);
    const boxes = (entries: Entry[]) => entries.map((entry) => this.policy(entry, chosen.has(entry.name)));
    const others = all.filter((entry, index) => !is_near(entry, index));
    this.policies.replaceChildren(
      ...boxes(all.filter(is_near)),
      h("details", { open: is_open }, h("summary", {}, `${others.length} more policies`), boxes(others)),
    );
    if (focused.startsWith("policy-")) document.getElementById(focused)?.focus({ preventScroll: true });
  }

  private policy({ name, summary }: Entry, is_chosen: boolean): HTMLElement {
    const box = h("input", { type: "checkbox", id: `policy-${name}`, checked: is_chosen });
    box.addEventListener("change", () => {
      this.choices.choose_policy(name, box.checked);
      this.draw_policies();
      this.changed();
    });
    return h(
      "div",
      { class: "check" },
      box,
      h("label", { for: box.id }, h("b", {}, name), " ", h("span", { class: "quiet" }, summary)),
    );
  }

  // Returns "More fields": a search over the table of fields, whose results can be added to the form.
  private search(): HTMLElement {
    const found = h("ul", { class: "found", "aria-label": "Fields found" });
    const count = h("p", { class: "note", id: "search-hint", "aria-live": "polite" });
    const control = h("input", { type: "search", id: "search", "aria-describedby": "search-hint" });
    const draw = () => {
      const words = control.value.toLowerCase().split(/\s+/).filter(Boolean);
      const fields = words.length === 0 ? [] : this.matching(words);
      count.textContent =
        words.length === 0
          ? `searches the paths and meanings of ${this.form.fields.length} fields`
          : `${fields.length} of ${this.form.fields.length} fields`;
      found.replaceChildren(
        ...fields.slice(0, most_found).map((field) =>
          h(
            "li",
            {},
            button(h("b", {}, field.path), { class: "plain" }, () => {
              this.add_field(field);
              control.value = "";
              draw();
            }),
            h("p", { class: "note" }, about(field)),
          ),
        ),
      );
    };
    control.addEventListener("input", draw);
    draw();
    return h(
      "fieldset",
      {},
      h("legend", {}, "More fields"),
      this.added,
      h("div", { class: "row" }, h("label", { for: "search" }, "Find a field"), control, count),
      found,
    );
  }

  private matching(words: string[]): Field[] {
    return this.form.fields.filter(({ path, meaning, kind }) => {
      const text = `${path} ${meaning}`.toLowerCase();
      return kind !== "object" && words.every((word) => text.includes(word)) && !this.rows.has(path);
    });
  }

  private add_field(field: Field): void {
    const entries = ["", ...field.words].map((name) => ({ name, summary: "as in the scenario" }));
    const control = field.words.length > 0 ? select(entries) : h("input", { type: "text" });
    const row = new Row(field.path, field.path, field.unit, control, about(field));
    row.element.append(
      button("Remove", { class: "plain", "aria-label": `Remove ${field.path}` }, () => {
        this.rows.delete(field.path);
        row.element.remove();
        this.choices.set(field.path, "");
        this.changed();
      }),
    );
    this.listen(row, control, null);
    this.added.append(row.element);
    this.draw();
    control.focus();
  }
}

const about = ({ values, usual, meaning }: Field) => [meaning, values, usual].filter(Boolean).join("; ");

const datalist = (id: string, entries: readonly Entry[]) =>
  h(
    "datalist",
    { id },
    entries.map(({ name, summary }) => h("option", { value: name }, summary)),
  );
