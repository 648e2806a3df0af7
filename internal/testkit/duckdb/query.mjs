// Runs SQL with DuckDB and prints the rows as JSON.
//
//   node query.mjs NODE_MODULES < QUERIES.json
//
// QUERIES.json is a list of statements. What is printed is a list of their rows.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.argv[2], "x.js"));
const { DuckDBInstance } = require(join(process.argv[2], "@duckdb/node-api"));
const db = await (await DuckDBInstance.create(":memory:")).connect();
const answers = [];
for (const sql of JSON.parse(readFileSync(0, "utf8"))) {
  answers.push((await db.runAndReadAll(sql)).getRowObjectsJson());
}
process.stdout.write(JSON.stringify(answers));
