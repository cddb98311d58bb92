// What a number is called and measured in, told by its name: names of the result format end in their unit.
// The shown value is the JSON's times `scale`.

export interface Unit {
  symbol: string; // "": a pure number
  scale: number;
}

export const ms_of_s: Unit = { symbol: "ms", scale: 1000 };

const rules: [RegExp, string, number][] = [
  [/bytes_per_s$/, "GB/s", 1e-9],
  [/bytes_per_day$/, "TB/day", 1e-12],
  [/bytes_per_token$/, "KiB/token", 1 / 1024],
  [/bytes_per_output_token$/, "KiB/token", 1 / 1024],
  [/ms_per_output_token$/, "ms/token", 1],
  [/_?bytes(\.\w+)?$/, "GB", 1e-9],
  [/usd_per_million_(output_)?tokens$/, "$/M tokens", 1],
  [/usd_per_hour$/, "$/h", 1],
  [/usd_per_gb_hour$/, "$/GB/h", 1],
  [/usd(_per_\w+)?$/, "$", 1],
  [/ttft_breakdown_ms/, "ms", 1],
  [/_ms$/, "ms", 1],
  [/sessions_per_s$/, "sessions/s", 1],
  [/requests_per_s$/, "requests/s", 1],
  [/per_s$/, "1/s", 1],
  [/_throughput$/, "1/s", 1],
  [/_goodput$/, "turns/s", 1],
  [/(hit_rate|miss_ratio|share)$/, "%", 100],
  [/utilization/, "%", 100],
  [/(_|^)s$/, "s", 1],
  [/^duration$/, "s", 1],
  [/flops$/, "TFLOP", 1e-12],
  [/joules?$/, "J", 1],
  [/kwh$/, "kWh", 1],
  [/_j(oules)?(_|$)/, "J", 1],
  [/watts?$/, "W", 1],
  [/(^|_|\.)tokens(\.\w+)?$/, "tokens", 1],
  [/^(completed|rejected|failed|abandoned|truncated|retried)$/, "turns", 1],
  [/_rate$/, "%", 100],
];

export function unit_of(name: string): Unit {
  const rule = rules.find(([pattern]) => pattern.test(name));
  return rule ? { symbol: rule[1], scale: rule[2] } : { symbol: "", scale: 1 };
}

const words: Record<string, string> = {
  ttft: "TTFT",
  itl: "ITL",
  tpot: "TPOT",
  e2el: "end to end",
  gpu: "GPU",
  kv: "KV",
  ssd: "SSD",
  dram: "DRAM",
  hbm: "HBM",
  pcie: "PCIe",
  h2d: "to GPU",
  d2h: "from GPU",
  nvlink: "NVLink",
  slo: "SLO",
  usd: "",
  ms: "",
};
const places: Record<string, string> = {
  mean: "mean",
  median: "median",
  std: "std. dev.",
  p90: "p90",
  p95: "p95",
  p99: "p99",
};

function spell(name: string): string {
  const spelt = name.split(/[_.\s]+/).map((word) => (Object.hasOwn(words, word) ? words[word] : word));
  return spelt.filter((word) => word !== "").join(" ");
}

// "p99_ttft_ms" -> "TTFT p99", "hit_tokens.ssd" -> "hit tokens, SSD".
export function title_of(metric: string): string {
  const known: Record<string, string> = {
    "cost.usd_per_hour": "cost per hour",
    "cost.usd_per_million_output_tokens": "cost per million output tokens",
    ttft_breakdown_ms: "TTFT",
    api: "API server",
    restore_compute: "restore compute",
    ssd_read: "SSD read",
    ssd_write: "SSD write",
    token_hit_rate: "token hit rate",
    "utilization.gpu": "GPU busy",
    lru_miss_ratio: "LRU",
    belady_miss_ratio: "Belady",
  };
  if (Object.hasOwn(known, metric)) return known[metric] ?? metric;
  const match = /^(mean|median|std|p\d+)_(.+?)(_ms)?$/.exec(metric);
  if (match) return `${spell(match[2] ?? "")} ${places[match[1] ?? ""] ?? match[1]}`;
  const [head = "", ...tail] = metric.split(".");
  const main = spell(head.replace(/_(ms|s|bytes|usd)$/, ""));
  return tail.length === 0 ? main : `${main}, ${spell(tail.join(" "))}`;
}

// A parameter of a sweep or plan by the end of its path, which is what tells it from the others.
export function short_path(path: string): string {
  const parts = path.split(".");
  return parts.length <= 2 ? path : parts.slice(-2).join(".");
}

// 1 when more is better, -1 when less is, 0 when neither is.
export function better(metric: string): number {
  if (/throughput|goodput|hit_rate|hit_tokens|completed|stable|retention/.test(metric)) return 1;
  if (
    /ttft|itl|tpot|e2el|queue|restore|usd|miss|rejected|failed|abandoned|wasted|truncated|preempt|duration|retried|rated_share/.test(
      metric,
    )
  )
    return -1;
  return 0;
}
