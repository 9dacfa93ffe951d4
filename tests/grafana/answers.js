// What a Prometheus answers to the queries of all boards, as Grafana would ask it: variables and `$__…` filled in, a range of
// time for plots, a point of it for tables. For the page that draws them (page.js).
// usage: node answers.js ADDRESS FILE [MINUTES [END]]: the Prometheus, where the answers go, how far back they reach, and from when
// (in seconds since 1970; now)
"use strict";
const fs = require("fs");
const path = require("path");

const [address, file, minutes = "10", end = String(Math.floor(Date.now() / 1000))] = process.argv.slice(2);
const boards = path.join(__dirname, "../../grafana/dashboards");

const POINTS = 240;
const RATE_S = 40;
const RANGE_S = 60 * Number(minutes);
const STEP_S = Math.max(1, Math.ceil(RANGE_S / POINTS));
const END_S = Number(end);

async function ask(task, parameters) {
  const query = new URLSearchParams(parameters);
  const answer = await (await fetch(`${address}/api/v1/${task}?${query}`)).json();
  if (answer.status !== "success") throw new Error(`${task} ${query}: ${answer.error}`);
  return answer.data;
}

const filled = (text, variables) =>
  Object.entries(variables).reduce((text, [name, value]) => text.replaceAll(`$${name}`, value), text
    .replaceAll("$__rate_interval", `${RATE_S}s`).replaceAll("$__range", `${RANGE_S}s`).replaceAll("$__interval", `${STEP_S}s`));

const escaped = (value) => value.replace(/[\\^$.*+?()[\]{}|]/g, "\\\\$&");

// What stands in queries for each variable. Of those with one value the first and the last are compared.
async function variables(board) {
  const found = {};
  for (const variable of board.templating.list.filter((variable) => variable.type === "query")) {
    const [, series, label] = filled(variable.query.query, found).match(/^label_values\((.*), (\w+)\)$/);
    const values = await ask(`label/${label}/values`, { "match[]": series, start: END_S - RANGE_S, end: END_S });
    if (!variable.includeAll) found[variable.name] = (variable.name === "baseline" ? values[0] : values.at(-1)) ?? "";
    else found[variable.name] = variable.allValue ?? `(${values.map(escaped).join("|")})`;
  }
  return found;
}

async function main() {
  const answers = {};
  for (const name of fs.readdirSync(boards).filter((name) => name.endsWith(".json"))) {
    const board = JSON.parse(fs.readFileSync(path.join(boards, name), "utf8"));
    const values = await variables(board);
    const panels = {};
    for (const panel of board.panels) {
      for (const target of panel.targets ?? []) {
        const query = filled(target.expr, values);
        const data = target.range
          ? await ask("query_range", { query, start: END_S - RANGE_S, end: END_S, step: STEP_S })
          : await ask("query", { query, time: END_S });
        (panels[panel.id] ??= {})[target.refId] = data;
      }
    }
    answers[path.basename(name, ".json")] = panels;
  }
  fs.writeFileSync(file, JSON.stringify({ from: END_S - RANGE_S, to: END_S, step: STEP_S, boards: answers }));
  const all = Object.values(answers).flatMap((panels) => Object.values(panels)).flatMap((panel) => Object.values(panel));
  console.log(`${all.length} queries, ${all.filter((data) => data.result.length === 0).length} of them without data`);
}

main().catch((error) => {
  console.error(String(error));
  process.exit(1);
});
