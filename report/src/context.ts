// Context: what one page is drawn from (report data, address, colours), with functions to draw and navigate.
import type { Group, PageName, Report, Run } from "./data.ts";
import { choice, h, type Child } from "./dom.ts";
import { draw_figure, type Figure } from "./figure.ts";
import { link_list, link_text, write_link, type Link } from "./link.ts";
import { colour } from "./charts/common.ts";
import type { Theme } from "./theme.ts";

export class Context {
  constructor(
    readonly report: Report,
    readonly page: PageName,
    readonly link: Link,
    readonly theme: Theme,
    readonly main: HTMLElement,
  ) {}

  // Returns the page's takeaways. Takeaways about the runs that the address selects come first.
  sentences(): string[] {
    const all = this.report.takeaways(this.page);
    const runs = this.text("runs");
    if (runs === null) return all;
    const input = this.report.after.groups.find((group) => group.name === runs)?.input ?? runs;
    const of_runs = (sentence: string) => sentence.startsWith(`${input}: `);
    return [...all.filter(of_runs), ...all.filter((sentence) => !of_runs(sentence))];
  }

  add(...children: Child[]): void {
    this.main.append(h("div", { class: "block" }, ...children));
  }

  figures(...figures: (Figure | null)[]): void {
    const grid = h("div", { class: "figures" });
    this.main.append(grid);
    for (const figure of figures) if (figure) this.draw(grid, figure);
  }

  draw(parent: HTMLElement, figure: Figure): void {
    draw_figure(parent, figure, write_link(this.page, this.link.values, { chart: figure.id }));
  }

  text(name: string): string | null {
    return link_text(this.link, name);
  }

  // Changes the address, which redraws the page. Removes `chart`, the figure to which a link led, from the
  // address.
  go(changes: Record<string, string | string[] | null>): void {
    location.hash = write_link(this.page, this.link.values, { chart: null, ...changes });
  }

  // Returns the value `name` of the address if it is one of `values`, otherwise the fallback (by default the
  // first).
  chosen(name: string, values: readonly string[], fallback = values[0] ?? ""): string {
    const wanted = this.text(name);
    return wanted !== null && values.includes(wanted) ? wanted : fallback;
  }

  select(
    label: string,
    name: string,
    values: readonly string[],
    selected: string,
    text: (value: string) => string = (value) => value,
  ): HTMLElement {
    return choice(
      label,
      `choose-${name}`,
      values.map((value) => ({ value, text: text(value) })),
      selected,
      (value) => this.go({ [name]: value }),
    );
  }

  // Returns the names that the address switches on, or all names if the address lists none of them.
  switched_on(names: readonly string[], parameter = "policies"): string[] {
    const wanted = link_list(this.link, parameter);
    const kept = wanted ? names.filter((name) => wanted.includes(name)) : [...names];
    return kept.length > 0 ? kept : [...names];
  }

  // Returns a legend whose items switch policies on and off.
  legend(names: readonly string[], on: readonly string[], parameter = "policies"): HTMLElement {
    const toggles = names.map((name, at) => {
      const pressed = on.includes(name);
      const style = this.report.palette.of(name);
      const swatch = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      swatch.setAttribute("width", "26");
      swatch.setAttribute("height", "10");
      swatch.setAttribute("aria-hidden", "true");
      const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
      const dash = { solid: "", dashed: "6 4", dotted: "2 3" };
      for (const [key, value] of Object.entries({ x1: 1, x2: 25, y1: 5, y2: 5, "stroke-width": 3 })) {
        line.setAttribute(key, String(value));
      }
      line.setAttribute("stroke", colour(style, this.theme));
      line.setAttribute(
        "stroke-dasharray",
        Array.isArray(style.dash) ? style.dash.join(" ") : dash[style.dash as "solid"],
      );
      swatch.append(line);
      const toggle = h(
        "button",
        {
          type: "button",
          id: `${parameter}-${at}`,
          class: "policy",
          "aria-pressed": pressed ? "true" : "false",
        },
        swatch,
        name,
      );
      toggle.addEventListener("click", () => {
        const next = names.filter((one) => (one === name ? !pressed : on.includes(one)));
        this.go({ [parameter]: next.length === names.length || next.length === 0 ? null : next });
      });
      return toggle;
    });
    return h("div", { class: "legend", role: "group", "aria-label": "Policies shown" }, toggles);
  }

  // Draws the controls, and returns the group of runs chosen in the address with those of its runs that are
  // shown.
  runs(): { group: Group; runs: Run[] } | null {
    const { groups } = this.report.after;
    const names = groups.map((group) => group.name);
    const group = groups.find((one) => one.name === this.chosen("runs", names));
    if (!group) return null;
    const labels = group.runs.map((run) => run.label);
    const on = this.switched_on(labels);
    this.add(
      h(
        "div",
        { class: "bar" },
        names.length > 1 ? this.select("Runs", "runs", names, group.name) : null,
        labels.length > 1 ? this.legend(labels, on) : null,
      ),
    );
    return { group, runs: group.runs.filter((run) => on.includes(run.label)) };
  }
}
