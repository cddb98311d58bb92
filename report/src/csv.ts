// Writes a table as CSV (RFC 4180) with every digit of every number.
import { h } from "./dom.ts";
import type { Table } from "./table.ts";

// Returns a field, quoted if necessary. Spreadsheets run text that starts with = + - or @ as a formula; an
// apostrophe prevents that.
function field(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

// Rounds scaled values to fifteen digits, which hides artefacts of binary fractions (0.954516914497965 would
// become 95.45169144979649).
function exact(value: number, scale: number): string {
  return String(scale === 1 ? value : Number((value * scale).toPrecision(15)));
}

export function to_csv(table: Table): string {
  const head = table.columns.map(({ name, unit }) => field(unit ? `${name} (${unit})` : name));
  const rows = table.rows.map((row) =>
    row.map((one) =>
      one.value === null ? field(one.text === "\u2013" ? "" : one.text) : exact(one.value, one.scale),
    ),
  );
  return [head, ...rows].map((row) => row.join(",")).join("\r\n") + "\r\n";
}

export function save(name: string, text: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const anchor = h("a", { href: url, download: name });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
