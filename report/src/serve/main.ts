// The page of kvcap serve: a form, the equivalent command, and the runs with their reports.
import { button, h } from "../dom.ts";
import { preferred_mode, remember_mode, type Mode } from "../theme.ts";
import { Choices } from "./answers.ts";
import { check, get_form, get_scenario, Refused, start, type Form } from "./api.ts";
import { CommandView } from "./command.ts";
import { FormView } from "./form.ts";
import { RunsView } from "./runs.ts";

const app = document.getElementById("app")!;
const check_delay_ms = 150;
const gone = "kvcap serve does not answer; start it again.";

class Page {
  private mode: Mode = preferred_mode();
  private readonly choices = new Choices();
  private readonly policies: string[];
  private readonly alarm = h("p", { class: "error", role: "alert", id: "alarm" });
  private readonly toggle = button("", { id: "theme", class: "plain" }, () => this.switch_mode());
  private readonly command = new CommandView(() => void this.run());
  private readonly runs = new RunsView((error) => this.fail(error));
  private readonly form: FormView;
  private checking = new AbortController();
  private timer = 0;

  constructor(form: Form) {
    this.policies = (form.choices["policies"] ?? []).map(({ name }) => name);
    this.form = new FormView(
      form,
      this.choices,
      () => this.check_soon(),
      (name) => void this.begin_from(name),
    );
    const reset = button("Reset the form", { class: "plain", id: "reset" }, () => {
      this.choices.reset();
      void this.begin_from(this.choices.scenario);
    });
    app.replaceChildren(
      h(
        "header",
        {},
        h("div", { class: "title" }, h("span", { class: "brand" }, "kvcap"), "compare policies"),
        h(
          "div",
          { class: "tools" },
          h("span", { class: "quiet" }, `kvcap ${form.version}`),
          reset,
          this.toggle,
        ),
      ),
      this.alarm,
      h(
        "main",
        {},
        h(
          "div",
          { class: "columns" },
          this.form.element,
          h("aside", {}, this.command.element, this.runs.chosen, this.runs.list),
        ),
        this.runs.report,
      ),
    );
    this.show_mode();
  }

  // Opens the page with the saved form and the runs of the server, so that reloading the page loses nothing.
  async open(scenario: string): Promise<void> {
    const begun = this.choices.restore() ?? scenario;
    await this.begin_from(begun);
    if (begun !== scenario && this.choices.scenario !== begun) await this.begin_from(scenario);
    await this.runs.open();
  }

  async begin_from(scenario: string): Promise<void> {
    try {
      this.choices.begin_from(scenario, await get_scenario(scenario));
      this.form.draw();
      await this.check();
    } catch (error) {
      if (!(error instanceof Refused)) return this.fail(error);
      // The scenario cannot be loaded, e.g. because its data are missing: the form keeps the previous one.
      this.form.draw();
      this.form.show_errors([{ input: "scenario", error: error.message }]);
    }
  }

  private check_soon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.check(), check_delay_ms);
  }

  // Asks the server for the command and the result of its dry run. A new check aborts the previous one.
  private async check(): Promise<void> {
    this.checking.abort();
    this.checking = new AbortController();
    const { signal } = this.checking;
    this.choices.keep();
    try {
      const checked = await check(this.choices.answers(this.policies), signal);
      this.alarm.textContent = "";
      this.command.show(checked, this.form.show_errors(checked.errors));
      document.documentElement.dataset.drawn = String(Math.round(performance.now()));
    } catch (error) {
      if (!signal.aborted) this.fail(error);
    }
  }

  private async run(): Promise<void> {
    try {
      const { id } = await start(this.choices.answers(this.policies));
      await this.runs.choose(id);
    } catch (error) {
      this.command.refuse(error instanceof Refused ? error.message : gone);
      if (!(error instanceof Refused)) this.fail(error);
    }
  }

  private fail(error: unknown): void {
    this.alarm.textContent = error instanceof Refused ? error.message : gone;
  }

  private switch_mode(): void {
    this.mode = this.mode === "dark" ? "light" : "dark";
    remember_mode(this.mode);
    this.show_mode();
    this.runs.reload_report();
  }

  private show_mode(): void {
    document.documentElement.dataset.theme = this.mode;
    const other = this.mode === "dark" ? "Light" : "Dark";
    this.toggle.textContent = other;
    this.toggle.setAttribute("aria-label", `Switch to ${other.toLowerCase()} colours`);
  }
}

get_form()
  .then((form) => new Page(form).open(form.start))
  .catch((error: unknown) => {
    app.replaceChildren(h("p", { class: "error", role: "alert" }, `The form cannot be shown: ${error}`));
  });
