// Creates the DOM nodes of all other files. Text becomes text nodes, so text from files is never parsed as
// markup.

export type Child = Node | string | number | null | undefined | false | Child[];
type Attributes = Record<string, string | number | boolean | null | undefined>;

function append(parent: Node, child: Child): void {
  if (Array.isArray(child)) {
    for (const one of child) append(parent, one);
  } else if (child instanceof Node) {
    parent.appendChild(child);
  } else if (child !== null && child !== undefined && child !== false) {
    parent.appendChild(document.createTextNode(String(child)));
  }
}

// Creates an element. Attribute names come from the program only; null, undefined and false are left out.
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

// Creates an SVG element.
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  append(element, children);
  return element;
}

export function button(label: Child, attributes: Attributes, press: () => void): HTMLButtonElement {
  const element = h("button", { type: "button", ...attributes }, label);
  element.addEventListener("click", press);
  return element;
}

// Returns a labelled <select>. `id` must be the same in every redraw, so that the element keeps the focus.
export function choice(
  label: string,
  id: string,
  options: readonly { value: string; text: string }[],
  selected: string,
  choose: (value: string) => void,
): HTMLElement {
  const select = h(
    "select",
    { id },
    options.map(({ value, text }) => h("option", { value, selected: value === selected }, text)),
  );
  select.addEventListener("change", () => choose(select.value));
  return h("span", { class: "choice" }, h("label", { for: id }, label), select);
}
