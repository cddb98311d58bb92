// Deep links: "#/latency?policies=hcache,kv_offload&chart=cdf". The address is the page's only state, so that what
// one reader sees, another sees by its address.

export interface Link {
  page: string;
  values: Map<string, string>;
}

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
};

// Commas separate the names of a list and stand for themselves within a name as %2C.
export function parse_link(hash: string): Link {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const values = new Map<string, string>();
  for (const pair of query.split("&").filter((text) => text !== "")) {
    const [name = "", value = ""] = pair.split("=", 2);
    values.set(decode(name), value);
  }
  return { page: decode(path), values };
}

export function link_text(link: Link, name: string): string | null {
  const value = link.values.get(name);
  return value === undefined ? null : decode(value);
}

// The names of a list; null when the link does not say.
export function link_list(link: Link, name: string): string[] | null {
  const value = link.values.get(name);
  return value === undefined
    ? null
    : value
        .split(",")
        .filter((one) => one !== "")
        .map(decode);
}

// The address of a page with some values changed; null takes one away.
export function write_link(
  page: string,
  values: Map<string, string>,
  changes: Record<string, string | string[] | null> = {},
): string {
  const all = new Map(values);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) all.delete(name);
    else all.set(name, (Array.isArray(value) ? value : [value]).map(encodeURIComponent).join(","));
  }
  const query = [...all].map(([name, value]) => `${encodeURIComponent(name)}=${value}`).join("&");
  return `#/${encodeURIComponent(page)}${query === "" ? "" : `?${query}`}`;
}
