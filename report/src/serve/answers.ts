// Choices: what the user has changed in the form. Everything else has the value of the scenario that the form
// starts from, and is not part of the command.
import type { Answers, ScenarioValues } from "./api.ts";

const kept = "kvcap serve: form";

export class Choices {
  scenario = "";
  private readonly changed = new Map<string, string>();
  private policies: Set<string> | null = null; // null: not changed
  private start: ScenarioValues = { values: {}, hints: {}, policy: "recompute" };

  // Takes the values of a scenario as the new start; keeps the user's changes.
  begin_from(scenario: string, start: ScenarioValues): void {
    this.scenario = scenario;
    this.start = start;
    for (const [name, value] of this.changed) if (value === this.usual(name)) this.changed.delete(name);
  }

  usual = (name: string): string => this.start.values[name] ?? "";
  hint = (name: string): string => this.start.hints[name] ?? "";
  value = (name: string): string => this.changed.get(name) ?? this.usual(name);
  is_changed = (name: string): boolean => this.changed.has(name);

  set(name: string, value: string): void {
    if (value.trim() === "" || value.trim() === this.usual(name)) this.changed.delete(name);
    else this.changed.set(name, value.trim());
  }

  reset(): void {
    this.changed.clear();
    this.policies = null;
  }

  // Saves the choices until the tab is closed.
  keep(): void {
    const { scenario, policies } = this;
    const changed = [...this.changed];
    sessionStorage.setItem(kept, JSON.stringify({ scenario, changed, policies: policies && [...policies] }));
  }

  // Restores the saved choices and returns their scenario; null if none were saved.
  restore(): string | null {
    const text = sessionStorage.getItem(kept);
    if (text === null) return null;
    const { scenario, changed, policies } = JSON.parse(text) as {
      scenario: string;
      changed: [string, string][];
      policies: string[] | null;
    };
    for (const [name, value] of changed) this.changed.set(name, value);
    this.policies = policies && new Set(policies);
    return scenario;
  }

  // Returns the chosen policies; by default, the scenario's own policy and the stock engine, which stores
  // nothing below the GPU.
  chosen_policies(): Set<string> {
    return this.policies ?? new Set(["recompute", this.start.policy]);
  }

  choose_policy(name: string, chosen: boolean): void {
    this.policies = new Set(this.chosen_policies());
    if (chosen) this.policies.add(name);
    else this.policies.delete(name);
  }

  // Returns the form's values as the server expects them. `order`: all policies, in the order for the
  // command.
  answers(order: readonly string[]): Answers {
    const chosen = this.chosen_policies();
    return {
      ...Object.fromEntries(this.changed),
      scenario: this.scenario,
      policies: order.filter((name) => chosen.has(name)),
    };
  }
}
