// Made by node scripts/release-sql.ts. Do not edit.
export { t as exchange } from "./exchange.js";
