// Colours. A policy has one colour everywhere. Hues are distinguishable with any colour vision (after Okabe
// and Ito) and have a contrast of at least 3 : 1 to the paper. Lines also differ in their dashes.

export type Mode = "light" | "dark";

export interface Style {
  light: string;
  dark: string;
  dash: "solid" | "dashed" | "dotted" | number[];
  symbol: string;
}

const styles: Style[] = [
  { light: "#6a7280", dark: "#9aa4b2", dash: [3, 3], symbol: "rect" },
  { light: "#0a6ab0", dark: "#5aaef0", dash: [9, 3], symbol: "circle" },
  { light: "#cf4f00", dark: "#ff8a45", dash: "solid", symbol: "diamond" },
  { light: "#00856a", dark: "#2fc49c", dash: [2, 2], symbol: "triangle" },
  { light: "#9d4f96", dark: "#d993d3", dash: [9, 3, 2, 3], symbol: "pin" },
  { light: "#9a6c00", dark: "#dcae3c", dash: [14, 4], symbol: "roundRect" },
  { light: "#2a8ac4", dark: "#9ad6ff", dash: [5, 2, 2, 2, 2, 2], symbol: "arrow" },
  { light: "#b3264c", dark: "#ff8fa6", dash: [6, 6], symbol: "circle" },
  { light: "#3f4450", dark: "#e3e6eb", dash: [1, 4], symbol: "rect" },
];

// Frequent policies, which have the same colour in every report.
const favourites: Record<string, number> = {
  recompute: 0,
  kv_offload: 1,
  hcache: 2,
  ideal: 3,
  cached_attention: 4,
  cacheblend: 5,
  hyperinfer: 6,
  adaptive: 7,
};

// Assigns a style to every name: frequent policies have fixed styles, others take the free ones in order of
// appearance.
export class Palette {
  private readonly taken = new Map<string, Style>();

  constructor(names: readonly string[]) {
    const present = new Set(names);
    const reserved = new Set<number>();
    for (const [name, index] of Object.entries(favourites)) if (present.has(name)) reserved.add(index);
    const free = styles.map((_, index) => index).filter((index) => !reserved.has(index));
    let next = 0;
    for (const name of present) {
      const favourite = Object.hasOwn(favourites, name) ? favourites[name] : undefined;
      const index = favourite ?? free[next++] ?? styles.length + (next - free.length);
      const style = styles[index % styles.length]!;
      // If there are more names than colours, later names reuse a colour with other dashes.
      const later = { ...style, dash: [4 + 3 * (index % 3), 2, 1, 2], symbol: "emptyCircle" };
      this.taken.set(name, index < styles.length ? style : later);
    }
  }

  of(name: string): Style {
    return this.taken.get(name) ?? styles[0]!;
  }
}

export interface Theme {
  mode: Mode;
  paper: string;
  ink: string;
  quiet: string; // labels: contrast of 4.5 : 1 to the paper
  line: string;
  accent: string;
  parts: (count: number) => string[]; // distinct hues, for stacked parts
  heat: (share: number) => string; // share in 0..1; small shares differ visibly from 0
  good: string;
  warm: string; // between good and bad
  bad: string;
}

// Neighbours differ in hue and in lightness.
const part_hues = {
  light: ["#7d8794", "#c98a00", "#6f52b5", "#3f86d6", "#b5384f", "#12836f", "#c065a0", "#7a5230", "#8a9a1c"],
  dark: ["#9aa4b2", "#f0bf55", "#9d80ea", "#66a9f5", "#f08a98", "#3fc2a6", "#e49bc9", "#b98d63", "#c3d154"],
};

function mix(from: string, to: string, share: number): string {
  const parts = [1, 3, 5].map((at) => {
    const a = parseInt(from.slice(at, at + 2), 16);
    const b = parseInt(to.slice(at, at + 2), 16);
    return Math.round(a + (b - a) * share)
      .toString(16)
      .padStart(2, "0");
  });
  return `#${parts.join("")}`;
}

function along(ramp: readonly string[], share: number): string {
  const position = Math.min(1, Math.max(0, share)) * (ramp.length - 1);
  const index = Math.min(ramp.length - 2, Math.floor(position));
  return mix(ramp[index]!, ramp[index + 1]!, position - index);
}

const light_heat = ["#f3f5f8", "#bfd3ea", "#6f9fd0", "#2b62a3", "#10325f"];
const dark_heat = ["#1d2129", "#28456d", "#3a74b4", "#7db1e8", "#dcebfb"];

export function theme(mode: Mode): Theme {
  const dark = mode === "dark";
  return {
    mode,
    paper: dark ? "#14161a" : "#ffffff",
    ink: dark ? "#e6e8ec" : "#1a1d23",
    quiet: dark ? "#a3abb8" : "#5a6270",
    line: dark ? "#343a45" : "#dde1e7",
    accent: dark ? "#7db6ff" : "#0b5cad",
    parts: (count) =>
      Array.from({ length: count }, (_, index) => part_hues[mode][index % part_hues[mode].length]!),
    heat: (share) => along(dark ? dark_heat : light_heat, Math.sqrt(Math.max(0, share))),
    good: dark ? "#5fd0a5" : "#00704f",
    warm: dark ? "#e8b24a" : "#9a6500",
    bad: dark ? "#ff9a8a" : "#b3321c",
  };
}

// Returns the mode that the reader has chosen, otherwise the system's. Pages opened from disk may have no
// storage.
export function preferred_mode(): Mode {
  try {
    const chosen = localStorage.getItem("kvcap-theme");
    if (chosen === "light" || chosen === "dark") return chosen;
  } catch {
    // Without storage, the system's mode is used.
  }
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

export function remember_mode(mode: Mode): void {
  try {
    localStorage.setItem("kvcap-theme", mode);
  } catch {
    // Without storage, the choice lasts until the page is closed.
  }
}
