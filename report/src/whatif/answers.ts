// The questions that the page asks the module about a setting, and the module's answers
// (sim/whatif/whatif.h).
import type { Ask } from "./module.ts";

export interface TierLink {
  name: string;
  bandwidth_path: string;
  bandwidth_bytes_per_s: number;
}
export interface Hardware {
  name: string;
  gpu: string;
  gpus: number;
  tiers: TierLink[];
}
export interface Catalogue {
  kvcap_version: string;
  models: string[];
  hardware: Hardware[];
  engines: string[];
  policies: { name: string; summary: string }[];
}
export interface MemoryTerm {
  name: string;
  bytes: number;
  charged: boolean;
  source: string;
  detail: string;
}
export interface MemoryAnswer {
  memory: {
    hardware: string;
    gpus: number;
    engine_version: string;
    kv_capacity_model: string;
    memory_bytes: number;
    gpu_memory_utilization: number;
    share_bytes: number;
    terms: MemoryTerm[];
    kv_bytes: number;
    kv_capacity_tokens: number;
    servers: { refusal?: string }[];
  };
  max_model_len: number;
  contexts: number;
  sizes: {
    weight_bytes: number;
    kv_bytes_per_token: number;
    window_bytes: number;
    recurrent_state_bytes: number;
    max_position_embeddings: number;
  };
}
export interface PolicyAnswer {
  policy: string;
  refusal?: string;
  prefill_s: number;
  closed_form_restore_s: number;
  stored_bytes_per_token: number;
  bound: string;
  is_bound: boolean;
  quality_note: string | null;
}
export interface RestoreAnswer {
  hardware: string;
  tier: string;
  policies: PolicyAnswer[];
}
export interface MapAnswer {
  rows: (number | null)[][][];
}

// The setting of the page, which the address contains.
export interface Setting {
  model: string;
  gpu: string;
  gpus: number;
  engine: string;
  tokens: number;
  new_tokens: number;
  tier: string;
  policies: string[];
}

export const standard: Setting = {
  model: "llama-3.1-8b",
  gpu: "h100-sxm",
  gpus: 1,
  engine: "vllm",
  tokens: 8192,
  new_tokens: 64,
  tier: "dram",
  policies: ["recompute", "kv_offload", "hcache"],
};

const most_tokens = 100_000_000;

function count(text: string | null, usual: number, most: number): number {
  const value = Math.round(Number(text ?? ""));
  return value >= 1 && value <= most ? value : usual;
}

// Returns the setting in an address. Missing or invalid values are those of `standard`.
export function setting_of(hash: string): Setting {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  return {
    model: given.get("model") ?? standard.model,
    gpu: given.get("gpu") ?? standard.gpu,
    gpus: count(given.get("gpus"), standard.gpus, 1024),
    engine: given.get("engine") ?? standard.engine,
    tokens: count(given.get("tokens"), standard.tokens, most_tokens),
    new_tokens: count(given.get("new_tokens"), standard.new_tokens, most_tokens),
    tier: given.get("tier") ?? standard.tier,
    policies: (given.get("policies") ?? standard.policies.join(",")).split(",").filter(Boolean),
  };
}

export function hash_of(setting: Setting): string {
  const all = Object.entries(setting).map(([name, value]): [string, string] => [name, String(value)]);
  return `#${new URLSearchParams(all).toString().replaceAll("%2C", ",").replaceAll("%40", "@")}`;
}

// Returns an answer, or an error message about the question.
function answer<T>(ask: Ask, question: object): T | string {
  const found = ask(question) as T & { error?: string };
  return found.error ?? found;
}

const machine = ({ model, gpu, gpus }: Setting) => ({ model, hardware: gpu, gpus });
const context = (setting: Setting) => ({
  ...machine(setting),
  tokens: setting.tokens,
  new_tokens: setting.new_tokens,
  tier: setting.tier,
});

export const memory_of = (ask: Ask, setting: Setting) =>
  answer<MemoryAnswer>(ask, {
    ask: "memory",
    ...machine(setting),
    engine: setting.engine,
    tokens: setting.tokens,
  });
export const restorations_of = (ask: Ask, setting: Setting) =>
  answer<RestoreAnswer>(ask, { ask: "restore", ...context(setting) });
// Returns one row of the map: the TTFT of each policy for each bandwidth.
export const map_row_of = (ask: Ask, setting: Setting, tokens: number, path: string, values: number[]) =>
  answer<MapAnswer>(ask, {
    ask: "break_even",
    ...context(setting),
    policies: setting.policies,
    across: { path, values },
    down: { path: "tokens", values: [tokens] },
  });
