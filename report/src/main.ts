// The frame of the report: reads the data, follows the address, and draws one page (or all pages, for
// printing).
import { Context } from "./context.ts";
import { page_names, read_report, ReportError, type PageName, type Report } from "./data.ts";
import { button, h } from "./dom.ts";
import { footer } from "./footer.ts";
import { close_charts, resize_charts } from "./figure.ts";
import { link_text, parse_link, write_link, type Link } from "./link.ts";
import { draw_page, has_page, page_title } from "./pages/pages.ts";
import { more_sentences } from "./pages/sentences.ts";
import { preferred_mode, remember_mode, theme, type Mode } from "./theme.ts";

const app = document.getElementById("app")!;

class Frame {
  private mode: Mode = preferred_mode();
  private drawn_page = "";
  private readonly nav = h("nav", { "aria-label": "Pages" });
  private readonly main = h("main", { id: "main", tabindex: -1 });
  private readonly pages: PageName[];

  constructor(private readonly report: Report) {
    this.pages = page_names.filter((name) => has_page(report, name));
    document.title = report.title;
    const skip = h("a", { class: "skip", href: "#main" }, "Skip to the page");
    skip.addEventListener("click", (event) => {
      event.preventDefault(); // the address is the page's state
      this.main.focus();
    });
    const toggle = button("", { id: "theme", class: "plain" }, () => {
      this.mode = this.mode === "dark" ? "light" : "dark";
      remember_mode(this.mode);
      this.draw();
    });
    const header = h(
      "header",
      {},
      h("div", { class: "title" }, h("span", { class: "brand" }, "kvcap"), h("span", {}, report.title)),
      h(
        "div",
        { class: "tools" },
        report.version ? h("span", { class: "quiet" }, `kvcap ${report.version}`) : null,
        button("Print", { class: "plain" }, () => window.print()),
        toggle,
      ),
    );
    app.replaceChildren(skip, header, this.nav, this.main, footer(report.version));
    addEventListener("hashchange", () => this.draw());
    addEventListener("resize", () => resize_charts());
    addEventListener("beforeprint", () => {
      this.draw("light");
      resize_charts(660);
    });
    addEventListener("afterprint", () => this.draw());
    this.draw();
  }

  private draw(mode: Mode = this.mode): void {
    document.documentElement.dataset.theme = mode;
    const link = parse_link(location.hash);
    const all = link.page === "all";
    const page = this.pages.find((name) => name === link.page) ?? this.pages[0] ?? "overview";
    const focused = document.activeElement?.id ?? "";
    close_charts();
    this.draw_nav(all ? "all" : page, mode);
    this.main.replaceChildren();
    for (const one of all ? this.pages : [page]) this.draw_one(one, link, mode);
    if (focused !== "") document.getElementById(focused)?.focus({ preventScroll: true });
    this.go_to(all ? "all" : page, link);
    document.documentElement.dataset.drawn = String(Math.round(performance.now()));
  }

  private draw_one(page: PageName, link: Link, mode: Mode): void {
    const section = h("section", { id: page, "aria-labelledby": `${page}-title` });
    const context = new Context(this.report, page, link, theme(mode), section);
    const [lead] = context.sentences();
    section.append(
      h("h1", { id: `${page}-title`, tabindex: -1 }, page_title(page)),
      lead === undefined ? "" : h("p", { class: "lead" }, lead),
    );
    this.main.append(section);
    // The overview shows its answers before its other takeaways.
    if (page !== "overview") more_sentences(context);
    draw_page(context);
  }

  private draw_nav(current: string, mode: Mode): void {
    const links = [
      ...this.pages.map((name): [string, string] => [name, page_title(name)]),
      ["all", "All pages"] as const,
    ];
    this.nav.replaceChildren(
      ...links.map(([name, title]) =>
        h(
          "a",
          {
            href: write_link(name, new Map()),
            "aria-current": name === current ? "page" : null,
            id: `nav-${name}`,
          },
          title,
        ),
      ),
    );
    const toggle = document.getElementById("theme")!;
    toggle.textContent = mode === "dark" ? "Light" : "Dark";
    toggle.setAttribute("aria-label", `Switch to ${mode === "dark" ? "light" : "dark"} colours`);
  }

  // Scrolls to a linked chart or to the head of a new page; otherwise keeps the position.
  private go_to(page: string, link: Link): void {
    const chart = link_text(link, "chart");
    const figure = chart === null ? null : document.getElementById(chart);
    if (figure?.tagName === "FIGURE") {
      figure.classList.add("linked");
      figure.scrollIntoView({ block: "start" });
    } else if (this.drawn_page !== "" && this.drawn_page !== page) {
      scrollTo(0, 0);
      if (!document.activeElement?.id.startsWith("nav-"))
        this.main.querySelector("h1")?.focus({ preventScroll: true });
    }
    this.drawn_page = page;
  }
}

try {
  new Frame(read_report(document.getElementById("kvcap-data")?.textContent ?? ""));
} catch (error) {
  if (!(error instanceof ReportError)) throw error;
  app.replaceChildren(h("main", {}, h("h1", {}, "kvcap report"), h("p", { role: "alert" }, error.message)));
}
