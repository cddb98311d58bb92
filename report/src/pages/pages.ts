// The table of pages: their titles, when they are present, and the functions that draw them.
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

interface Page {
  title: string;
  present: (report: Report) => boolean;
  draw: (context: Context) => void;
}

const has_runs = (report: Report): boolean => report.after.groups.length > 0;

const pages: Record<PageName, Page> = {
  overview: { title: "Overview", present: () => true, draw: overview },
  latency: { title: "Latency", present: has_runs, draw: latency },
  cache: {
    title: "Cache",
    present: (report) => has_runs(report) || report.after.traces.length > 0,
    draw: cache,
  },
  resources: { title: "Resources", present: has_runs, draw: resources },
  restoration: { title: "Restoration", present: ({ after }) => after.restores.length > 0, draw: restoration },
  sweep: {
    title: "Sweep",
    present: ({ after }) => after.sweeps.length + after.break_evens.length > 0,
    draw: sweep,
  },
  plan: { title: "Plan", present: ({ after }) => after.plans.length > 0, draw: plan },
  capacity: { title: "Capacity", present: ({ after }) => after.capacities.length > 0, draw: capacity },
  validation: { title: "Validation", present: ({ after }) => after.validations.length > 0, draw: validation },
  changes: { title: "Changes", present: (report) => report.has_before, draw: changes },
};

export const page_title = (name: PageName): string => pages[name].title;

export function has_page(report: Report, name: PageName): boolean {
  return pages[name].present(report);
}

export function draw_page(context: Context): void {
  pages[context.page].draw(context);
}
