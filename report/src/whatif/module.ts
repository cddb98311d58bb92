// Loads the parts of kvcap that compute closed forms, which the page contains as WebAssembly. Questions and
// answers are JSON, as sim/whatif/whatif.h defines them.

export type Ask = (question: object) => unknown;

interface Exports {
  memory: WebAssembly.Memory;
  _initialize?: () => void;
  malloc: (bytes: number) => number;
  free: (at: number) => void;
  kvcap_answer: (question: number) => number;
}

// Error numbers of WASI and of Linux that all file operations return.
const bad_file = 8;
const no_entry = -44;

// Returns stand-ins for the functions that the module imports: there are no files, and the environment is
// empty.
function imports_of(module: WebAssembly.Module): WebAssembly.Imports {
  const imports: Record<string, Record<string, (...values: number[]) => number>> = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    (imports[from] ??= {})[name] = () => {
      if (name.startsWith("environ_") || name === "emscripten_notify_memory_growth") return 0;
      if (name.startsWith("fd_")) return bad_file;
      if (name.startsWith("__syscall_")) return no_entry;
      throw new Error(`not part of this page: ${name}`);
    };
  }
  return imports;
}

// Returns the bytes of a text that was compressed with gzip and encoded in base64.
async function unpacked(text: string): Promise<ArrayBuffer> {
  const bytes = Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

export async function load_module(packed: string): Promise<Ask> {
  const module = await WebAssembly.compile(await unpacked(packed));
  const instance = await WebAssembly.instantiate(module, imports_of(module));
  const { memory, malloc, free, kvcap_answer, _initialize } = instance.exports as unknown as Exports;
  _initialize?.();
  return (question) => {
    const bytes = new TextEncoder().encode(`${JSON.stringify(question)}\0`);
    const at = malloc(bytes.length);
    new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
    const begin = kvcap_answer(at);
    free(at);
    const all = new Uint8Array(memory.buffer);
    return JSON.parse(new TextDecoder().decode(all.subarray(begin, all.indexOf(0, begin))));
  };
}
