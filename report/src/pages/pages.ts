// The pages by name: their titles, when they have content, and the functions that draw them.
import type { Context } from "../context.ts";
import type { PageName, Report } from "../data.ts";
import { cache } from "./cache.ts";
import { capacity } from "./capacity.ts";
import { changes } from "./changes.ts";
import { latency } from "./latency.ts";
import { overview } from "./overview.ts";
import { plan } from "./plan.ts";
import { resources } from "./resources.ts";
import { restoration } from "./restoration.ts";
import { sweep } from "./sweep.ts";
import { validation } from "./validation.ts";

export const page_titles: Record<PageName, string> = {
  overview: "Overview",
  latency: "Latency",
  cache: "Cache",
  resources: "Resources",
  restoration: "Restoration",
  sweep: "Sweep",
  plan: "Plan",
  capacity: "Capacity",
  validation: "Validation",
  changes: "Changes",
};

interface Page {
  present: (report: Report) => boolean;
  draw: (context: Context) => void;
}

const has_runs = (report: Report): boolean => report.after.groups.length > 0;

const pages: Record<PageName, Page> = {
  overview: { present: () => true, draw: overview },
  latency: { present: has_runs, draw: latency },
  cache: { present: (report) => has_runs(report) || report.after.traces.length > 0, draw: cache },
  resources: { present: has_runs, draw: resources },
  restoration: { present: ({ after }) => after.restores.length > 0, draw: restoration },
  sweep: { present: ({ after }) => after.sweeps.length + after.break_evens.length > 0, draw: sweep },
  plan: { present: ({ after }) => after.plans.length > 0, draw: plan },
  capacity: { present: ({ after }) => after.capacities.length > 0, draw: capacity },
  validation: { present: ({ after }) => after.validations.length > 0, draw: validation },
  changes: { present: (report) => report.has_before, draw: changes },
};

export function has_page(report: Report, name: PageName): boolean {
  return pages[name].present(report);
}

export function draw_page(context: Context): void {
  pages[context.page].draw(context);
}
