// The runs of this session: a list, and the chosen run with its finished simulations and, at its end, its
// report.
import { button, h } from "../dom.ts";
import { show } from "../format.ts";
import { cancel, get_run, get_runs, type Run, type RunDetails } from "./api.ts";

const poll_ms = 500;
const is_open = ({ state }: Run) => state === "waiting" || state === "running";

const columns: [string, string][] = [
  ["mean_ttft_ms", "mean TTFT, ms"],
  ["p99_ttft_ms", "p99 TTFT, ms"],
  ["p99_tpot_ms", "p99 TPOT, ms"],
  ["output_throughput", "tokens/s"],
];

export class RunsView {
  readonly list = h("section", { "aria-labelledby": "runs-title", hidden: true });
  readonly chosen = h("section", { id: "chosen", "aria-label": "Chosen run", hidden: true });
  private readonly status = h("p", { class: "lead", id: "status", role: "status" });
  // These elements are updated and never replaced, so that the focus and a click in progress are not lost.
  private readonly bar = h("progress", { max: 1, value: 0, "aria-label": "Progress" });
  private readonly doing = h("span");
  private readonly progress = h(
    "div",
    { class: "bar" },
    this.bar,
    this.doing,
    button("Cancel", { id: "cancel" }, () => {
      cancel(this.id).then(() => this.choose(this.id), this.fail);
    }),
  );
  private readonly body = h("div");
  readonly report = h("section", { id: "report", "aria-label": "Report" });
  private id = 0;
  private shown_report = 0;
  private timer = 0;

  constructor(private readonly fail: (error: unknown) => void) {
    this.chosen.append(this.status, this.progress, this.body);
  }

  // Reloads the report, because a report reads the preferred colours only when it is loaded.
  reload_report(): void {
    const frame = this.report.querySelector("iframe");
    if (frame !== null) frame.src = frame.src;
  }

  // Shows the last run of the server, if there is one.
  async open(): Promise<void> {
    try {
      const last = Math.max(0, ...(await get_runs()).map(({ id }) => id));
      if (last > 0) await this.choose(last);
    } catch (error) {
      this.fail(error);
    }
  }

  async choose(id: number): Promise<void> {
    this.id = id;
    clearTimeout(this.timer);
    await this.poll();
    if (this.shown_report === 0) this.chosen.scrollIntoView({ block: "nearest" });
  }

  // Draws the runs, and repeats this until no run is waiting or running.
  private async poll(): Promise<void> {
    try {
      const asked = this.id;
      const [runs, run] = await Promise.all([get_runs(), get_run(asked)]);
      if (asked !== this.id) return;
      this.draw_list(runs);
      this.draw_run(run);
      clearTimeout(this.timer);
      if (runs.some(is_open)) this.timer = setTimeout(() => void this.poll(), poll_ms);
    } catch (error) {
      this.fail(error);
    }
  }

  private draw_list(runs: Run[]): void {
    const focused = document.activeElement?.id ?? "";
    this.list.hidden = false;
    this.list.replaceChildren(
      h("h2", { id: "runs-title" }, "Runs"),
      h(
        "ol",
        { class: "runs" },
        runs.map((run) => {
          const label = [h("b", {}, `${run.id} `), h("span", { class: run.state }, run.state)];
          const pick = button([label, h("code", {}, run.command)], { id: `run-${run.id}` }, () =>
            this.choose(run.id),
          );
          pick.setAttribute("aria-pressed", String(run.id === this.id));
          return h("li", {}, pick);
        }),
      ),
    );
    if (focused.startsWith("run-")) document.getElementById(focused)?.focus({ preventScroll: true });
  }

  private draw_run(run: RunDetails): void {
    this.chosen.hidden = false;
    const text = `Run ${run.id}: ${run.state}`;
    // The status has no percentage, which screen readers would read out twice a second.
    if (this.status.textContent !== text) this.status.textContent = text;
    this.progress.hidden = !is_open(run);
    this.bar.value = run.share;
    this.doing.textContent =
      run.state === "waiting"
        ? "waiting for earlier runs"
        : `${run.progress} ${Math.round(100 * run.share)} %`;
    this.body.replaceChildren(
      run.finished.length > 0 && run.state !== "done" ? simulations(run) : "",
      run.messages === "" ? "" : h("pre", { class: run.state === "failed" ? "error" : "note" }, run.messages),
    );
    this.draw_report(run);
  }

  // Shows the report of a finished run. The frame is not replaced while the same run is chosen.
  private draw_report(run: RunDetails): void {
    const id = run.state === "done" ? run.id : 0;
    if (id === this.shown_report) return;
    this.shown_report = id;
    this.report.replaceChildren();
    if (id === 0) return;
    this.report.append(
      h(
        "div",
        { class: "bar" },
        h("a", { href: run.report, target: "_blank", rel: "noopener" }, "Open the report in a tab"),
        h("details", {}, h("summary", {}, "Output as text"), h("pre", { class: "pan" }, run.answer)),
      ),
      h("iframe", {
        src: run.report,
        title: `Report of run ${id}`,
        sandbox: "allow-scripts allow-downloads allow-modals",
      }),
    );
    this.report.scrollIntoView({ block: "start" });
  }
}

// Returns a table with a row for each finished simulation. A simulation that was lengthened finishes several
// times, of which the last one counts.
function simulations(run: RunDetails): HTMLElement {
  const last = new Map(run.finished.map((one) => [`${one.finished} ${one.seed}`, one]));
  const number = (value: number | null | undefined) => h("td", { class: "number" }, show(value ?? null));
  return h(
    "div",
    { class: "scroll" },
    h(
      "table",
      { id: "simulations" },
      h("caption", {}, "Finished simulations"),
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["setting", "seed", ...columns.map(([, title]) => title)].map((title) =>
            h("th", { scope: "col" }, title),
          ),
        ),
      ),
      h(
        "tbody",
        {},
        [...last.values()].map(({ finished, seed, metrics }) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, finished),
            h("td", { class: "number" }, seed),
            columns.map(([name]) => number(metrics[name])),
          ),
        ),
      ),
    ),
  );
}
