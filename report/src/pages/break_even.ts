// Break-even map: one tile per pair of values of two fields, in the colour of the fastest policy.
import { colour } from "../charts/common.ts";
import { tiles, type Tile } from "../charts/tiles.ts";
import type { Context } from "../context.ts";
import type { Named } from "../data.ts";
import { brief, list, show } from "../format.ts";
import { id_of, type Figure } from "../figure.ts";
import type { Place } from "../place.ts";
import { cell, words } from "../table.ts";
import { ms_of_s, field_title, unit_of } from "../quantities.ts";

// Formats a value of a field, given as text, in the field's unit.
function label(path: string, text: string): string {
  const number = Number(text);
  return text.trim() === "" || Number.isNaN(number) ? text : brief(number * unit_of(path).scale, 6);
}

function axis_title(path: string): string {
  const { symbol } = unit_of(path);
  const name = field_title(path);
  return symbol === "" || symbol === name ? name : `${name} (${symbol})`;
}

export function break_even_figures(context: Context, { name, place }: Named): Figure[] {
  const across = place.at("across").text ?? "";
  const down = place.at("down").text ?? "";
  const cells = place.at("cells").items;
  const text = (one: Place, key: string) => one.at(key).text ?? String(one.at(key).value ?? "");
  const columns = [...new Set(cells.map((one) => text(one, "across")))];
  const rows = [...new Set(cells.map((one) => text(one, "down")))];
  const winner = (one: Place) => one.at("winner").text ?? "none";
  const winners = [...new Set(cells.map(winner))];
  const paint = (policy: string) => colour(context.report.palette.of(policy), context.theme);
  const all: Tile[] = cells.map((one) => ({
    column: columns.indexOf(text(one, "across")),
    row: rows.indexOf(text(one, "down")),
    colour: paint(winner(one)),
    text: one.at("lead").number === null ? "" : `${show(one.at("lead").number)}x`,
    title: `${winner(one)} wins`,
    rows: one.at("policies").items.map((each) => ({
      name: each.at("policy").text ?? "",
      text:
        each.at("ttft_s").number === null
          ? (each.at("reason").text ?? "\u2013")
          : `${show(1000 * each.at("ttft_s").number!)} ms`,
      colour: paint(each.at("policy").text ?? ""),
    })),
  }));
  const map: Figure = {
    id: id_of("break-even", name),
    title: `Fastest policy: ${name}`,
    note: "Each tile has the colour of the policy with the lowest TTFT; the number is the TTFT of the second-fastest policy divided by it.",
    says: `Map of ${field_title(across)} against ${field_title(down)}; ${list(winners.map((one) => `${one} wins ${cells.filter((each) => winner(each) === one).length} tiles`))}.`,
    height: 70 + 34 * rows.length,
    key: winners.map((one) => ({ name: one, colour: paint(one) })),
    option: tiles(
      context.theme,
      { name: axis_title(across), labels: columns.map((one) => label(across, one)) },
      { name: axis_title(down), labels: rows.map((one) => label(down, one)) },
      all,
    ),
    table: () => ({
      columns: [
        { name: axis_title(down) },
        { name: axis_title(across) },
        { name: "Winner" },
        { name: "By the closed form" },
        { name: "Second over winner" },
        ...(cells[0]?.at("policies").items ?? []).map((each) => ({
          name: `TTFT of ${each.at("policy").text ?? ""}`,
          unit: "ms",
        })),
      ],
      rows: cells.map((one) => [
        words(label(down, text(one, "down"))),
        words(label(across, text(one, "across"))),
        words(winner(one)),
        words(one.at("closed_form_winner").text ?? "\u2013"),
        cell(one.at("lead")),
        ...one.at("policies").items.map((each) => cell(each.at("ttft_s"), ms_of_s)),
      ]),
    }),
  };
  return [map];
}
