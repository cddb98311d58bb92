// Formats numbers as text, by default with three significant digits; tables also keep the exact number.

const minus = "\u2212";

function group(digits: string): string {
  const [whole = "", fraction] = digits.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

// Formats with `digits` significant digits and keeps all digits before the point.
export function show(value: number | null, digits = 3): string {
  if (value === null) return "\u2013";
  if (Number.isInteger(value) && Math.abs(value) < 1e12)
    return (value < 0 ? minus : "") + group(String(Math.abs(value)));
  const size = Math.abs(value);
  const sign = value < 0 ? minus : "";
  if (size >= 1e12 || size < 1e-4) {
    const [mantissa = "", exponent = "0"] = size.toExponential(digits - 1).split("e");
    return `${sign}${mantissa}e${Number(exponent)}`.replace("e-", `e${minus}`);
  }
  // Rounding may add a digit (99.96 -> 100), so the digits are counted after it.
  const rounded = Number(size.toPrecision(digits));
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(rounded)));
  return sign + group(size.toFixed(Math.min(decimals, 12)));
}

// Formats like show(), but without trailing zeros: for axes, and for numbers that users have typed.
export function brief(value: number, digits = 3): string {
  const text = show(value, digits);
  return text.includes(".") && !text.includes("e") ? text.replace(/\.?0+$/, "") : text;
}

// Formats a value and the half width of its interval, which limits the number of digits: "210 ± 10".
export function show_interval(value: number | null, half_width: number | null): string {
  if (value === null || half_width === null || half_width <= 1e-9 * Math.abs(value)) return show(value);
  const decimals = Math.min(12, Math.max(0, 1 - Math.floor(Math.log10(half_width))));
  const fixed = (number: number) => (number < 0 ? minus : "") + group(Math.abs(number).toFixed(decimals));
  return `${fixed(value)} \u00b1 ${fixed(half_width)}`;
}

const prefixes: [number, string][] = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

// Formats a quantity with a unit prefix: 4000000000000 -> "4 TB".
export function quantity(value: number, unit: string): string {
  const [size, prefix] = prefixes.find(([limit]) => value >= limit) ?? [1, ""];
  return `${brief(value / size)} ${prefix}${unit}`;
}

// Formats milliseconds in a readable unit: "200 ms", "1.5 s", "12 min", "3 h".
export function duration(ms: number): string {
  const size = Math.abs(ms);
  if (size < 1000) return `${brief(ms)} ms`;
  if (size < 300_000) return `${brief(ms / 1000)} s`;
  return size < 3 * 3_600_000 ? `${brief(ms / 60_000)} min` : `${brief(ms / 3_600_000)} h`;
}

// Formats an axis label: 1500000 -> "1.5M".
export function axis_label(value: number): string {
  const [size, prefix] =
    Math.abs(value) >= 1e4 ? (prefixes.find(([limit]) => Math.abs(value) >= limit) ?? [1, ""]) : [1, ""];
  return brief(value / size) + prefix;
}

export function list(words: readonly string[]): string {
  if (words.length <= 1) return words.join("");
  return `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}
