// The memory of one GPU: a bar of its parts, and the table of the same numbers.
import { h } from "../dom.ts";
import { quantity, show } from "../format.ts";
import { theme, type Mode } from "../theme.ts";
import type { MemoryAnswer } from "./answers.ts";

const gib = 2 ** 30;
const planners: Record<string, string> = {
  engine: "as vLLM plans it",
  static_share: "as SGLang plans it",
  share_of_free: "as TensorRT-LLM plans it",
  simple: "by weights and shapes alone",
};

interface Part {
  name: string;
  bytes: number;
  detail: string;
  colour: string;
}

// Returns the parts in the order of the bar. What no term names is left free.
function parts_of({ memory }: MemoryAnswer, mode: Mode): Part[] {
  const { parts: hues, good, paper } = theme(mode);
  const terms = memory.terms.filter(({ bytes }) => bytes > 0);
  const colours = hues(terms.length);
  const parts = terms.map((term, index) => ({
    name: term.name,
    bytes: term.bytes,
    detail: `${term.source}: ${term.detail}`,
    colour: colours[index]!,
  }));
  const kv = Math.max(0, memory.kv_bytes);
  const used = parts.reduce((sum, { bytes }) => sum + bytes, kv);
  parts.push({ name: "KV cache", bytes: kv, detail: "what is left for contexts", colour: good });
  const free = Math.max(0, memory.memory_bytes - used);
  parts.push({ name: "not used", bytes: free, detail: "outside the engine's share", colour: paper });
  return parts;
}

const tinted = (tag: "span" | "i", colour: string, attributes = {}) => {
  const element = h(tag, attributes);
  element.style.background = colour;
  return element;
};

export function memory_view(answer: MemoryAnswer, mode: Mode): HTMLElement {
  const { memory } = answer;
  const parts = parts_of(answer, mode);
  const total = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  const stack = h("div", { class: "stack", role: "img", "aria-label": "Parts of the memory of one GPU" });
  for (const part of parts) {
    const span = tinted("span", part.colour, { title: `${part.name}: ${show(part.bytes / gib)} GiB` });
    span.style.flex = `${part.bytes / total} 0 0`;
    stack.append(span);
  }
  const refusal = memory.servers.find(({ refusal }) => refusal !== undefined)?.refusal;
  return h(
    "section",
    { "aria-labelledby": "memory-title" },
    h("h2", { id: "memory-title" }, "Memory of one GPU"),
    h(
      "p",
      { class: "note" },
      `${show(memory.memory_bytes / gib)} GiB, ${planners[memory.kv_capacity_model] ?? ""} (version ${memory.engine_version}, gpu_memory_utilization ${memory.gpu_memory_utilization}).`,
    ),
    refusal === undefined
      ? null
      : h("p", { class: "error", role: "alert" }, `A run refuses this: ${refusal}`),
    stack,
    h(
      "table",
      { class: "memory" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col" }, "Part"),
          h("th", { scope: "col", class: "number" }, "GiB"),
          h("th", { scope: "col", class: "detail" }, "Where it comes from"),
        ),
      ),
      h(
        "tbody",
        {},
        parts.map((part) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, tinted("i", part.colour, { class: "swatch" }), part.name),
            h("td", { class: "number" }, (part.bytes / gib).toFixed(2)),
            h("td", { class: "detail quiet" }, part.detail),
          ),
        ),
      ),
    ),
  );
}

// "128 KiB of KV per token": bytes with binary prefixes, as kvcap prints sizes of state.
export function binary(bytes: number): string {
  const [size, unit] =
    bytes >= gib
      ? [gib, "GiB"]
      : bytes >= 2 ** 20
        ? [2 ** 20, "MiB"]
        : bytes >= 1024
          ? [1024, "KiB"]
          : [1, "B"];
  return `${show(bytes / size)} ${unit}`;
}

export function summary_view({ memory, contexts, sizes, max_model_len }: MemoryAnswer, tokens: number) {
  const layers = sizes.window_bytes + sizes.recurrent_state_bytes;
  const fact = (id: string, name: string, value: string) => [h("dt", {}, name), h("dd", { id }, value)];
  return h(
    "dl",
    { class: "facts" },
    fact("weights", "Weights", quantity(sizes.weight_bytes, "B")),
    fact("kv-per-token", "KV per token", binary(sizes.kv_bytes_per_token)),
    layers > 0 ? fact("state", "Windows and state of a context", binary(layers)) : [],
    fact("kv-capacity", "KV capacity", `${show(memory.kv_capacity_tokens)} tokens`),
    fact("contexts", `Contexts of ${show(tokens)} tokens`, contexts >= 1 ? show(contexts) : "none fits"),
    fact("longest", "Longest sequence", max_model_len > 0 ? `${show(max_model_len)} tokens` : "none fits"),
  );
}
