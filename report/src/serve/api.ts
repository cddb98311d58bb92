// Sends requests to kvcap serve. Every request carries the token that the server has put into the page.

export interface Entry {
  name: string;
  summary: string;
}

export interface Input {
  name: string;
  group: string;
  title: string;
  choices: string; // name of a list in Form.choices; "": none
  hint: string;
  unit: string;
  kind: "number" | "text";
}

export interface Field {
  path: string;
  kind: "number" | "text" | "flag" | "object" | "list";
  values: string;
  unit: string;
  usual: string;
  meaning: string;
  words: string[];
}

export interface Form {
  version: string;
  start: string; // the scenario that the form shows first
  inputs: Input[];
  choices: Record<string, Entry[]>;
  fields: Field[];
}

export interface ScenarioValues {
  values: Record<string, string>; // by the names of inputs and the paths of fields
  hints: Record<string, string>;
  policy: string;
}

export type Answers = Record<string, string | string[]>;

// What is wrong with an answer; `input` is "" where no input has it.
export interface FormError {
  input: string;
  error: string;
}

// A command with what it would run, or with the errors of the form.
export interface Checked {
  command?: string;
  settings?: string[];
  simulations?: number;
  errors: FormError[];
}

export type State = "waiting" | "running" | "done" | "failed" | "cancelled";

export interface Run {
  id: number;
  command: string;
  state: State;
}

export interface Simulation {
  finished: string;
  seed: number;
  metrics: Record<string, number | null>;
}

export interface RunDetails extends Run {
  progress: string;
  share: number;
  finished: Simulation[];
  messages: string;
  answer: string;
  report: string; // address of the report
}

const token = document.querySelector<HTMLMetaElement>('meta[name="kvcap-token"]')?.content ?? "";

// Thrown if the server refuses a request; the message is the server's.
export class Refused extends Error {}

async function ask<T>(path: string, options: RequestInit = {}): Promise<T> {
  const headers = { "X-Kvcap-Token": token, "Content-Type": "application/json" };
  const response = await fetch(path, { ...options, headers });
  const answer = await response.json();
  if (!response.ok) throw new Refused(answer.error);
  return answer;
}

const send = <T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> =>
  ask(path, { method: "POST", body: JSON.stringify(body), signal: signal ?? null });

export const get_form = () => ask<Form>("/api/form");
export const get_scenario = (name: string) =>
  ask<ScenarioValues>(`/api/scenario?name=${encodeURIComponent(name)}`);
export const check = (answers: Answers, signal: AbortSignal) =>
  send<Checked>("/api/command", answers, signal);
export const start = (answers: Answers) => send<{ id: number }>("/api/runs", answers);
export const cancel = (id: number) => send<object>(`/api/runs/${id}/cancel`, {});
export const get_runs = () => ask<Run[]>("/api/runs");
export const get_run = (id: number) => ask<RunDetails>(`/api/runs/${id}`);
