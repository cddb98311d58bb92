// Deep links such as "#/latency?policies=hcache,kv_offload&chart=cdf". The address is the page's only state,
// so that a link shows the same page to every reader.

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

// Parses an address. Commas separate the names of a list; a comma within a name is written %2C.
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

// Returns the names of a list; null if the link does not contain the list.
export function link_list(link: Link, name: string): string[] | null {
  const value = link.values.get(name);
  return value === undefined
    ? null
    : value
        .split(",")
        .filter((one) => one !== "")
        .map(decode);
}

// Returns the address of a page with some values changed; null removes a value.
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
