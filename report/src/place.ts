// Place: a value in the report's data, with its path (RFC 6901). Every number on the page keeps its path, so
// that tests, and readers of the page's source, can find it in the JSON.

export class Place {
  constructor(
    readonly value: unknown,
    readonly path: string,
  ) {}

  // Returns the place of a member. If there is no such member, the place does not exist (`exists`).
  at(...keys: (string | number)[]): Place {
    let value = this.value;
    let path = this.path;
    for (const key of keys) {
      const own = typeof value === "object" && value !== null && Object.hasOwn(value, key);
      value = own ? (value as Record<string | number, unknown>)[key] : undefined;
      path += "/" + String(key).replaceAll("~", "~0").replaceAll("/", "~1");
    }
    return new Place(value, path);
  }

  // Returns a metric by its dotted name, which is a single key in some files and a path of keys in others.
  metric(name: string): Place {
    const flat = this.at(name);
    return flat.exists ? flat : this.at(...name.split("."));
  }

  get exists(): boolean {
    return this.value !== undefined && this.value !== null;
  }
  get number(): number | null {
    if (typeof this.value === "boolean") return Number(this.value);
    return typeof this.value === "number" && Number.isFinite(this.value) ? this.value : null;
  }
  get text(): string | null {
    return typeof this.value === "string" ? this.value : null;
  }
  get items(): Place[] {
    return Array.isArray(this.value) ? this.value.map((_, index) => this.at(index)) : [];
  }
  get entries(): [string, Place][] {
    if (typeof this.value !== "object" || this.value === null || Array.isArray(this.value)) return [];
    return Object.keys(this.value).map((key) => [key, this.at(key)]);
  }
  // Returns the items as numbers, null for items that are not numbers; empty if the value is not a list.
  get numbers(): (number | null)[] {
    return this.items.map((item) => item.number);
  }
  get texts(): string[] {
    return this.items.flatMap((item) => item.text ?? []);
  }
}

// Returns the numeric leaves of an object with their dotted names.
export function leaves(place: Place, prefix = ""): [string, Place][] {
  return place.entries.flatMap(([key, member]): [string, Place][] => {
    const name = prefix + key;
    return member.number !== null ? [[name, member]] : leaves(member, name + ".");
  });
}
