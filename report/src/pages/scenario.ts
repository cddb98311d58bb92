// Describes a scenario in plain words.
import { h } from "../dom.ts";
import { brief, list, quantity } from "../format.ts";
import { tier_title } from "../quantities.ts";
import type { Place } from "../place.ts";

const number = (place: Place): number => place.number ?? 0;

// Returns the main facts of the hardware; details are in the JSON.
function machine(hardware: Place): string {
  const gpu = hardware.at("gpu");
  const parts = [`${brief(number(gpu.at("count")))}x ${gpu.at("name").text ?? "GPU"}`];
  const dram = hardware.at("dram", "capacity_bytes").number;
  if (dram) parts.push(`${quantity(dram, "B")} of DRAM`);
  for (const [tier, devices] of hardware.entries) {
    const read = number(devices.at("read_bandwidth_bytes_per_s")) / 1e9;
    if (!(read > 0 && number(devices.at("count")) > 0)) continue;
    const kind = tier === "ssd" ? "SSDs" : `${tier_title(tier)} devices`;
    parts.push(
      `${brief(number(devices.at("count")))} ${kind} of ${quantity(number(devices.at("capacity_bytes")), "B")} at ${brief(read)} GB/s`,
    );
  }
  const h2d = hardware.at("pcie", "h2d_bandwidth_bytes_per_s").number;
  if (h2d) parts.push(`PCIe at ${brief(h2d / 1e9)} GB/s`);
  if (number(gpu.at("count")) > 1) parts.push(links(hardware));
  if (hardware.at("remote").exists) parts.push("remote storage");
  return list(parts);
}

// Returns how the GPUs are connected for collectives: hardware.peer if given, otherwise NVLink or the host.
function links(hardware: Place): string {
  const peer = hardware.at("peer").text;
  if (!peer) return hardware.at("nvlink").exists ? "NVLink" : "GPUs assumed to be connected through the host";
  const ways: Record<string, string> = {
    direct: "directly",
    switch: "through a PCIe switch",
    host: "through the host",
  };
  return `GPUs connected ${ways[peer] ?? peer}`;
}

function workload(scenario: Place): string {
  const load = scenario.at("workload");
  const source = load.at("source");
  const sessions = load.at("sessions").number;
  const path = source.at("path").text;
  const parts = [
    `${sessions === null ? "all" : brief(sessions, 12)} sessions of ${source.at("kind").text ?? "a trace"}${path ? ` (${path})` : ""}`,
  ];
  const arrivals = load.at("arrivals");
  const rate = arrivals.at("sessions_per_s").number;
  if (rate !== null) parts.push(`${brief(rate)} of them a second (${arrivals.at("process").text ?? ""})`);
  const requests = arrivals.at("requests_per_s").number;
  if (requests !== null)
    parts.push(`${brief(requests)} requests a second (${arrivals.at("process").text ?? ""})`);
  const rates = arrivals.at("rates").items;
  if (rates.length > 0) parts.push(`a rate that changes ${brief(rates.length - 1)} times`);
  const concurrency = arrivals.at("concurrency").number;
  if (concurrency !== null) parts.push(`${brief(concurrency)} of them at a time`);
  const think = load.at("think_time", "mean_s").number;
  const distribution = load.at("think_time", "distribution").text;
  if (distribution === "recorded") parts.push("think times of the source");
  else if (distribution === "timetable") parts.push("turns at the times of the source");
  else if (think !== null) parts.push(`${brief(think)} s between an answer and the next turn`);
  return parts.join(", ");
}

function targets(slo: Place): string {
  const ttft = slo.at("ttft_ms").number;
  const tpot = slo.at("tpot_ms").number;
  const parts = [
    ttft === null ? "" : `first token within ${brief(ttft)} ms`,
    tpot === null ? "" : `${brief(tpot)} ms a token after it`,
  ];
  return parts.filter((part) => part !== "").join(", ");
}

const kinds: Record<string, string> = {
  datasheet: "from datasheets: times are estimates",
  paper: "from a paper's testbed",
  measured: "measured on this machine",
};

function provenance_badge(result: Place): HTMLElement {
  const kind = result.at("provenance", "hardware").text ?? "unknown";
  const meaning = Object.hasOwn(kinds, kind) ? kinds[kind] : "";
  return h("span", { class: "badge", title: meaning }, kind);
}

export function scenario_words(result: Place): HTMLElement {
  const scenario = result.at("scenario");
  const hardware = scenario.at("hardware");
  const replications = number(scenario.at("replications"));
  const rows: [string, (Node | string)[]][] = [
    ["Model", [scenario.at("model", "name").text ?? scenario.at("model").text ?? ""]],
    ["Machine", [machine(hardware), " ", provenance_badge(result)]],
    ["Workload", [workload(scenario)]],
    ["Targets", [targets(scenario.at("slo"))]],
    [
      "Runs",
      [
        `${replications > 1 ? `means of ${brief(replications)} replications, \u00b1 95 % intervals` : "one replication: no intervals"}; ` +
          `seed ${brief(number(scenario.at("seed")), 12)}, fidelity ${scenario.at("fidelity").text ?? "request"}`,
      ],
    ],
  ];
  return h(
    "dl",
    { class: "facts" },
    rows.filter(([, words]) => words[0] !== "").map(([name, text]) => [h("dt", {}, name), h("dd", {}, text)]),
  );
}
