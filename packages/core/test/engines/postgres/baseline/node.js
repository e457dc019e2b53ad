// Made by node scripts/release-sql.ts. Do not edit.
import { A as movedError, C as inSchema, D as sqlStateBehind, E as ofSet, M as DulyError, N as dulyError, P as isDulyError, S as eachGroup, _ as writtenSpec, a as writtenReport, b as isPlain, c as jobStatuses, d as toJobRecord, f as toSlot, g as slotText, h as policyText, i as report, j as transferParts, k as NotificationSet, l as toClaimedJobs, m as checkedDue, n as settleInTransaction, o as isTerminal, p as statusAt, r as logs, s as jobActions, t as exchange, u as toRunningJobs, v as numberArray, w as keepable, x as Work, y as textArray } from "./exchange.js";
import { n as schemaSteps, r as statements, t as functionSet } from "./sql.js";
import { createInterface } from "node:readline";
import { getRandomValues } from "node:crypto";
import { isDate, isProxy } from "node:util/types";
// \0rolldown/runtime.js
var __defProp = Object.defineProperty;
var __exportAll = (all, no_symbols) => {
	let target = {};
	for (var name in all) __defProp(target, name, {
		get: all[name],
		enumerable: true
	});
	if (!no_symbols) __defProp(target, Symbol.toStringTag, { value: "Module" });
	return target;
};
// packages/conformance/src/builders.ts
/** The instant at which every test begins. Far from the machine's clock, so that a verb that reads it is caught. */
const t0 = Date.UTC(2027, 0, 15, 10);
/** One second, minute, hour and day in milliseconds. */
const second = 1e3;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
let created = 0;
/** An id that no other call of this process gave, in order of making. */
function freshId(prefix = "job") {
	created += 1;
	return `${prefix}_${String(created).padStart(26, "0")}`;
}
/** A policy as `task()` would resolve it, with room for what a test cares about. */
function jobPolicy(fields = {}) {
	return {
		maxAttempts: 3,
		retry: {
			backoff: "fixed",
			delayMs: second
		},
		timeoutMs: hour,
		graceMs: 30 * second,
		delivery: "at-least-once",
		retentionMs: 7 * day,
		deadRetentionMs: 90 * day,
		...fields
	};
}
/** A plain job of type `work`, due at `t0`. */
function jobSpec(fields = {}) {
	return {
		id: freshId(),
		type: "work",
		version: 1,
		queue: "default",
		tenant: null,
		priority: 0,
		rankOffsetMs: 0,
		due: { at: t0 },
		input: "{\"n\":1}",
		metadata: null,
		policy: jobPolicy(),
		startDeadlineMs: null,
		dedupe: null,
		serial: null,
		gates: [],
		parent: null,
		origin: "event",
		slot: null,
		copyOf: null,
		...fields
	};
}
/** A dedupe rule that drops and holds its key until the job is terminal. */
function dedupe(key, fields = {}) {
	return {
		key,
		forMs: null,
		mode: "drop",
		maxWaitMs: null,
		...fields
	};
}
/** A claim by an idle worker of `work` jobs, with a token of its own. */
function claimRequest(fields = {}) {
	return {
		token: freshId("claim"),
		node: "node-a",
		tasks: [{
			type: "work",
			version: 1,
			limit: 100
		}],
		queues: null,
		limit: 100,
		leaseMs: 30 * second,
		idle: true,
		...fields
	};
}
/** An error as a handler throws it. */
function jobError(message = "It broke.") {
	return {
		name: "Error",
		message
	};
}
const usualReason = {
	COMPLETED: "returned",
	FAILED: "threw",
	RETRYING: "threw",
	SCHEDULED: "snoozed",
	PENDING: "released",
	CANCELLED: "cancelled"
};
/**
* The usual settlement to a status: COMPLETED returned, FAILED and RETRYING (in one second) threw, SCHEDULED
* snoozed for a second, PENDING released before its handler was entered, CANCELLED obeyed the signal.
*/
function settlement(lease, to, fields = {}) {
	const failed = to === "FAILED" || to === "RETRYING";
	return {
		id: lease.id,
		fence: lease.fence,
		to,
		reason: usualReason[to],
		spends: failed || to === "COMPLETED",
		started: to !== "PENDING",
		loss: "none",
		due: to === "RETRYING" || to === "SCHEDULED" ? { inMs: second } : null,
		result: to === "COMPLETED" ? "{\"ok\":true}" : null,
		error: failed ? jobError() : null,
		report: null,
		...fields
	};
}
/** A dynamic schedule that is to be made, due at `t0`. */
function schedulePut(fields = {}) {
	const id = fields.id ?? freshId("sch");
	return {
		op: "put",
		id,
		app: null,
		tenant: null,
		name: `every ${id}`,
		expectVersion: null,
		spec: "{\"rule\":\"nightly\"}",
		state: "{\"cursor\":0}",
		dueAt: t0,
		waitsFor: null,
		action: "create",
		slots: [],
		jobs: [],
		...fields
	};
}
/** A ledger row of one fired slot. */
function slotRow(at, fields = {}) {
	return {
		fromAt: at,
		toAt: at,
		count: 1,
		decision: "fired",
		reason: null,
		node: "node-a",
		jobId: null,
		...fields
	};
}
/** The mark of a schedule on a job. */
function jobSlot(scheduleId, slotAt, fields = {}) {
	return {
		scheduleId,
		scheduleName: `every ${scheduleId}`,
		generation: 1,
		slotAt,
		fireId: `${scheduleId}/1/${slotAt ?? "trigger"}`,
		details: null,
		...fields
	};
}
/** A job that a schedule made for one slot. */
function slotJob(scheduleId, slotAt, fields = {}) {
	return jobSpec({
		origin: "schedule",
		slot: jobSlot(scheduleId, slotAt),
		due: { at: slotAt },
		...fields
	});
}
/** Decisions for a claimed schedule that fire nothing and put it off by an hour. */
function fireGroup(claimed, fields = {}) {
	return {
		scheduleId: claimed.id,
		version: claimed.version,
		fence: claimed.fence,
		state: "{\"cursor\":1}",
		dueAt: t0 + hour,
		waitsFor: null,
		slots: [],
		jobs: [],
		cancel: [],
		...fields
	};
}
/** What a node says of itself. */
function nodeInfo(id, fields = {}) {
	return {
		id,
		app: "studio",
		release: null,
		declares: [],
		host: "host-a",
		pid: 1,
		roles: ["worker"],
		tasks: [{
			type: "work",
			version: 1
		}],
		queues: null,
		concurrency: 10,
		running: 0,
		notReady: null,
		startedAt: t0,
		...fields
	};
}
// packages/core/src/base/clock.ts
const pieceMsMax = 3e4;
/**
* Finds the origin of one reading of the monotonic clock in another's. A process that loses the processor between two reads would be
* apart from all others by that time, for good; so the second is read between two of the first, until they lie close together.
*/
function findOrigin(readElapsed, readNow) {
	let originAt = 0;
	let widthMs = Number.POSITIVE_INFINITY;
	for (let tries = 0; tries < originTriesMax && widthMs > originWidthMs; tries++) {
		const before = readElapsed();
		const now = readNow();
		const after = readElapsed();
		if (after - before >= widthMs) continue;
		widthMs = after - before;
		originAt = before + widthMs / 2 - now;
	}
	return originAt;
}
const originWidthMs = .001;
const originTriesMax = 1e3;
const originElapsed = findOrigin(() => Number(process.hrtime.bigint()) / 1e6, () => performance.now());
function elapsed() {
	return originElapsed + performance.now();
}
/** A timer of the machine. A class, since there is one for every attempt. */
var SystemTimer = class {
	#untilElapsed;
	#fn;
	#unref;
	#handle;
	constructor(ms, fn, unref) {
		const now = elapsed();
		this.#untilElapsed = now + (ms > 0 ? ms : 0);
		this.#fn = fn;
		this.#unref = unref;
		this.#wait(now);
	}
	#wait(now) {
		const waitMs = Math.min(Math.ceil(Math.max(this.#untilElapsed - now, 0)), pieceMsMax);
		this.#handle = setTimeout(() => this.#arrive(), waitMs);
		if (this.#unref) this.#handle.unref();
	}
	#arrive() {
		const now = elapsed();
		if (now < this.#untilElapsed) this.#wait(now);
		else this.#fn();
	}
	cancel() {
		clearTimeout(this.#handle);
	}
};
function after(ms, fn, { unref = false } = {}) {
	return new SystemTimer(ms, fn, unref);
}
/** Makes a `sleep` out of an `after`: the same for every clock. */
function createSleep(after) {
	return (ms, signal) => new Promise((resolve) => {
		if (signal?.aborted) {
			resolve();
			return;
		}
		const finish = () => {
			timer.cancel();
			signal?.removeEventListener("abort", finish);
			resolve();
		};
		const timer = after(ms, finish);
		signal?.addEventListener("abort", finish, { once: true });
	});
}
/** The real time. This file is the only one that touches it. */
const systemClock = {
	now: () => Date.now(),
	elapsed,
	sleep: createSleep(after),
	after
};
// packages/core/src/base/random.ts
const pool = /* @__PURE__ */ new Uint32Array(2048);
let poolAt = pool.length;
/** Chance from the operating system, 53 bits at a time. */
const systemRandom = { next() {
	if (poolAt >= pool.length) {
		getRandomValues(pool);
		poolAt = 0;
	}
	const high = pool[poolAt++] >>> 5;
	const low = pool[poolAt++] >>> 6;
	return (high * 67108864 + low) / 9007199254740992;
} };
/** The names of all verbs. */
const engineVerbNames = Object.keys({
	enqueue: {
		access: "write",
		inUserTransaction: true
	},
	exchange: {
		access: "write",
		inUserTransaction: false
	},
	heartbeat: {
		access: "write",
		inUserTransaction: false
	},
	reap: {
		access: "write",
		inUserTransaction: false
	},
	cancel: {
		access: "write",
		inUserTransaction: false
	},
	reschedule: {
		access: "write",
		inUserTransaction: false
	},
	retry: {
		access: "write",
		inUserTransaction: false
	},
	report: {
		access: "write",
		inUserTransaction: false
	},
	act: {
		access: "write",
		inUserTransaction: false
	},
	applySchedules: {
		access: "write",
		inUserTransaction: true
	},
	claimSchedules: {
		access: "write",
		inUserTransaction: false
	},
	fire: {
		access: "write",
		inUserTransaction: false
	},
	schedules: {
		access: "read",
		inUserTransaction: true
	},
	slots: {
		access: "read",
		inUserTransaction: false
	},
	acquire: {
		access: "write",
		inUserTransaction: false
	},
	renew: {
		access: "write",
		inUserTransaction: false
	},
	release: {
		access: "write",
		inUserTransaction: false
	},
	heldLocks: {
		access: "read",
		inUserTransaction: false
	},
	putExpiring: {
		access: "write",
		inUserTransaction: false
	},
	getExpiring: {
		access: "read",
		inUserTransaction: false
	},
	remember: {
		access: "write",
		inUserTransaction: false
	},
	get: {
		access: "read",
		inUserTransaction: true
	},
	holder: {
		access: "read",
		inUserTransaction: false
	},
	list: {
		access: "read",
		inUserTransaction: true
	},
	logs: {
		access: "read",
		inUserTransaction: false
	},
	counts: {
		access: "read",
		inUserTransaction: false
	},
	upcoming: {
		access: "read",
		inUserTransaction: false
	},
	stats: {
		access: "read",
		inUserTransaction: false
	},
	trend: {
		access: "read",
		inUserTransaction: false
	},
	changes: {
		access: "read",
		inUserTransaction: false
	},
	audit: {
		access: "read",
		inUserTransaction: false
	},
	migrate: {
		access: "write",
		inUserTransaction: false
	},
	nodes: {
		access: "write",
		inUserTransaction: false
	},
	records: {
		access: "write",
		inUserTransaction: "optional"
	},
	prune: {
		access: "write",
		inUserTransaction: false
	},
	transfer: {
		access: "write",
		inUserTransaction: false
	},
	exportRows: {
		access: "read",
		inUserTransaction: false
	},
	importRows: {
		access: "write",
		inUserTransaction: false
	}
});
/** Creates all verbs from one function, which is called once for each of them. */
function mapVerbs(callOf) {
	return Object.fromEntries(engineVerbNames.map((verb) => [verb, callOf(verb)]));
}
// packages/core/src/engines/postgres/claim-scan-hints.ts
const slackMs = 1e3;
const pageMs = .01;
const busyFactor = 10;
const idleFactor = 4;
const lanesMax = 200;
/**
* The rank at which claims of this process begin to scan each lane. While a transaction of another session stays open, index entries of
* settled jobs remain below the live ones, and a full scan steps over all of them. Hints only choose where to scan first: jobs below them
* (high priority, late commit) are found by the next full scan, at most ten times later than a full scan takes.
*/
var ClaimScanHints = class {
	#clock;
	/** Lanes of jobs that this process created or claimed, so that lanes which are empty now are known too. */
	#lanes = /* @__PURE__ */ new Map();
	#dueAt = null;
	/** When the last full scan ended and how long it took; null: full scans are too short to save anything. */
	#full = null;
	constructor(clock) {
		this.#clock = clock;
	}
	/** Remembers a lane in which this process created or claimed jobs. */
	noteLane({ type, version, queue }) {
		const key = keyOf(type, version, queue);
		if (this.#lanes.size < lanesMax && !this.#lanes.has(key)) this.#lanes.set(key, {
			type,
			version,
			queue,
			rank: Number.MIN_SAFE_INTEGER
		});
	}
	/** The claim as it is sent: with hints if they save something. */
	sent(claim, { isFull = false } = {}) {
		if (isFull || this.#full === null || this.#lanes.size >= lanesMax) return claim;
		if (this.#sinceFullMs() > busyFactor * this.#full.tookMs) return claim;
		const types = new Set(claim.tasks.map(({ type }) => type));
		const lanes = [...this.#lanes.values()].filter(({ type }) => types.has(type));
		return {
			...claim,
			scanHints: {
				lanes,
				dueAt: this.#dueAt
			}
		};
	}
	/** Updates the hints from the reply to a claim. */
	update(claim, now, scanned) {
		if (scanned === null || scanned === void 0) {
			if (this.#full !== null && this.#sinceFullMs() > busyFactor * this.#full.tookMs) this.#full = null;
			return;
		}
		for (const lane of scanned.lanes) this.noteLane(lane);
		const liveRanks = new Map(scanned.lanes.map((lane) => [keyOf(lane.type, lane.version, lane.queue), lane.rank]));
		const tasks = new Map(claim.tasks.map((task) => [task.type, task]));
		for (const [key, lane] of this.#lanes) {
			const task = tasks.get(lane.type);
			const rank = liveRanks.get(key);
			if (rank !== void 0) lane.rank = rank;
			else if (task !== void 0 && lane.version <= task.version) lane.rank = now - slackMs;
		}
		if (scanned.isFull) this.#full = {
			elapsed: this.#clock.elapsed(),
			tookMs: scanned.pages * pageMs
		};
		this.#dueAt = scanned.isAllPromoted ? now - slackMs : null;
	}
	/** How long to wait before a full scan, after a claim with hints found nothing; 0: it may happen now. */
	waitMs() {
		if (this.#full === null) return 0;
		return Math.max(0, idleFactor * this.#full.tookMs - this.#sinceFullMs());
	}
	#sinceFullMs() {
		return this.#full === null ? Number.POSITIVE_INFINITY : this.#clock.elapsed() - this.#full.elapsed;
	}
};
function keyOf(type, version, queue) {
	return `${version} ${queue.length} ${queue}${type}`;
}
// packages/core/src/engines/shared/transfer-parts.ts
/** A node that was heard of so lately is counted as one that works on the store: one heartbeat, and half of one for a slow store. */
const liveNodeMs = 15e3;
/** What stands before the names of a store's tables while it is fenced. Whoever does not know of it finds no table. */
const fencedPrefix = "moved_";
/** Parts whose rows are the same in every store, by their columns; the first ones are the key. */
const plainParts = {
	records: {
		key: 2,
		columns: [
			"kind",
			"key",
			"value",
			"version",
			"updated_at"
		]
	},
	generations: {
		key: 1,
		columns: ["id", "generation"]
	},
	slots: {
		key: 3,
		columns: [...[
			"schedule_id",
			"generation",
			"from_at",
			"to_at",
			"count",
			"decision",
			"reason",
			"node",
			"job_id"
		], ...["decided_at", "last_decided_at"]]
	},
	compacted_months: {
		key: 3,
		columns: [
			"schedule_id",
			"generation",
			"start_at",
			"from_at",
			"to_at",
			"counts"
		]
	},
	dedupes: {
		key: 3,
		columns: [
			"type",
			"tenant",
			"key",
			"job_id",
			"until_at",
			"created_at",
			"ended",
			"follow_id",
			"follow_until"
		]
	},
	children: {
		key: 2,
		columns: [
			"parent_id",
			"key",
			"job_id"
		]
	},
	logs: {
		key: 2,
		columns: [
			"job_id",
			"n",
			"attempt",
			"line",
			"at",
			"level",
			"message"
		]
	},
	expirings: {
		key: 2,
		columns: [
			"name",
			"key",
			"value",
			"expires_at",
			"cleanup_id"
		]
	},
	journal: {
		key: 2,
		columns: [
			"scope",
			"key",
			"value",
			"until_at"
		]
	},
	audit: {
		key: 1,
		columns: [
			"position",
			"at",
			"actor",
			"action",
			"subject",
			"before",
			"after",
			"note"
		]
	}
};
/** What a live job and one that is over have in common. */
const jobColumns = [
	"seq",
	"id",
	"type",
	"version",
	"queue",
	"tenant",
	"priority",
	"input",
	"metadata",
	"policy",
	"fence",
	"attempt",
	"spent",
	"max_attempts",
	"losses",
	"begun_losses",
	"begun_at",
	"created_at",
	"due_at",
	"claimed_at",
	"origin",
	"slot",
	"parent_id",
	"parent_key",
	"cancel_requested_at",
	"status",
	"reason",
	"rank_offset",
	"serial",
	"copy_of",
	"dedupe_key",
	"schedule_id",
	"started_at",
	"lateness_ms",
	"updated_at",
	"expire_at",
	"node",
	"percent",
	"message",
	"step",
	"step_of",
	"cancelled_by",
	"error",
	"attempts"
];
/** The columns of a live job that are the same in every store. Beside them: `lease_left_ms`, how long its lease still lasts. */
const liveColumns = [
	...jobColumns,
	"solo",
	"rank"
];
/** The columns of a job that is over. */
const overColumns = [
	...jobColumns,
	"finished_at",
	"prune_at",
	"result"
];
/**
* The columns of a schedule. Its lease stays behind, whoever decided it does so no more; and its last fence, because the counter goes
* along.
*/
const scheduleColumns = [...[
	"seq",
	"id",
	"app",
	"tenant",
	"name",
	"generation",
	"version",
	"spec",
	"state",
	"due_at",
	"waits_for"
], ...["created_at", "updated_at"]];
/** Whether a store has this role in this move. */
function isMarkOf(mark, role, { move }) {
	return mark !== null && mark.role === role && mark.move === move;
}
/** A store takes part in one move at a time. One that arrived may be moved on. */
function refuseFenced(mark, place) {
	if (mark !== null && mark.role !== "arrived") throw movedError(mark, place);
}
/** Refuses to write where the move does not arrive. */
function requireArriving(mark, { move }) {
	if (mark !== null && isMarkOf(mark, "target", { move })) return mark;
	throw dulyError("store_not_empty", {
		message: "Nothing of this move can be written here: the store is not the one that it arrives in.",
		hint: "Begin the move again.",
		details: { move }
	});
}
/** Why a store cannot be moved to: what it holds, or that nodes run on it. */
function notEmpty(filled) {
	return dulyError("store_not_empty", {
		message: filled === void 0 ? "Nodes run on the store that is to be moved to." : `The store that is to be moved to is not empty: it has ${filled[1]} rows of "${filled[0]}".`,
		hint: "Name an empty store, and start nodes on it when the move is done.",
		details: filled === void 0 ? {} : {
			part: filled[0],
			count: filled[1]
		}
	});
}
// packages/core/src/engines/postgres/migrate.ts
/** The schema this code writes. */
const schemaVersion = schemaSteps.length;
const stepsMs = 6e5;
const lookAgainMs = 100;
const noStore = {
	version: 0,
	lowestCode: 0,
	sets: /* @__PURE__ */ new Map(),
	released: /* @__PURE__ */ new Set(),
	fenced: false
};
const setKey = "functions_";
const releasedKey = "released_";
const lowestSetKey = "lowest_set";
const beforeRelease = 1e3;
/** Reads where the store stands. Refuses a schema that holds something else, or a store from before the first release. */
async function readSchema({ database, schema, place }) {
	const [found] = await database.query(`SELECT (SELECT count(*) = 2 FROM pg_attribute WHERE attrelid = to_regclass($1) AND attname IN ('key', 'value')) AS meta,
       EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass($2) AND attname = 'rank') AS jobs,
       EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass($4) AND attname = 'rank') AS fenced,
       EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $3 AND c.relkind IN ('r', 'p', 'v', 'm')) AS others`, [
		`"${schema}".meta`,
		`"${schema}".jobs`,
		schema,
		`"${schema}".${fencedPrefix}jobs`
	]);
	if (found?.meta === true && (found.jobs || found.fenced)) {
		const rows = await database.query(inSchema(`SELECT key, value FROM duly.meta WHERE key IN ('schema_version', '${lowestSetKey}') OR starts_with(key, '${setKey}') OR starts_with(key, '${releasedKey}')`, schema));
		const read = (key) => Number(rows.find((row) => row.key === key)?.value ?? 0);
		const sets = rows.filter(({ key }) => key.startsWith(setKey));
		const released = rows.filter(({ key }) => key.startsWith(releasedKey));
		if (sets.length === 0) throw isFromBefore(schema, place);
		return {
			version: read("schema_version"),
			lowestCode: read(lowestSetKey),
			sets: new Map(sets.map(({ key, value }) => [Number(key.slice(10)), Number(value)])),
			released: new Set(released.map(({ key }) => Number(key.slice(9)))),
			fenced: !found.jobs
		};
	}
	if (found?.others === true) throw dulyError("store_not_a_database", {
		message: `The schema "${schema}" at ${place} holds tables, but not those of Duly.`,
		hint: "Give Duly a schema of its own: add \"?schema=…\" to the address.",
		details: {
			place,
			schema
		}
	});
	return noStore;
}
/** Refuses a store that serves newer code only, or whose released set of this number has another text. */
function refuseTooNew(state, place) {
	refuseOtherRelease(state, place);
	if (state.lowestCode <= functionSet.number) return;
	throw dulyError("schema_too_new", {
		message: `The store at ${place} is at schema ${state.version} and ${servesOnly(state)}.`,
		hint: "Update Duly in this process. Nothing was changed.",
		details: {
			place,
			schema: state.version,
			lowestCode: state.lowestCode,
			code: functionSet.number
		}
	});
}
/** Nodes of the release run on its functions, so no other text may replace them. */
function refuseOtherRelease({ version, sets, released, lowestCode, fenced }, place) {
	const { number, hash } = functionSet;
	const found = sets.get(number);
	if (fenced || found === void 0 || found === hash || !released.has(number)) return;
	throw dulyError("schema_too_new", {
		message: `The store at ${place} has function set ${number} of another release, and this version of Duly has a different set ${number}.`,
		hint: "Run the release that created the set, or a later one. A build from source needs sql/released.json of that release, and then: npm run generate. Nothing was changed.",
		details: {
			place,
			schema: version,
			lowestCode,
			code: number
		}
	});
}
/** Which code the store serves, for a message to code that is older. */
function servesOnly({ lowestCode }) {
	return `serves only code of function set ${lowestCode} or newer; this version of Duly has ${functionSet.number}`;
}
/** The names of the steps that a store still needs; none while it is fenced. */
function missingSteps(state) {
	if (state.fenced) return [];
	const steps = schemaSteps.filter((step) => step.number > state.version).map((step) => step.name);
	const { number, hash } = functionSet;
	return state.sets.get(number) === hash ? steps : [...steps, `${setKey}${number}`];
}
/**
* Runs the missing steps, or returns their names. A new store is created in one transaction. In a store that exists, the steps of the schema
* are committed before the functions are created, so that running nodes wait for the locks of DDL alone. A second process polls until
* nothing is left to do: it does not wait for the lock, because only repeated statements notice that the server is gone. The lock is one of
* the transaction, so it works behind a pooler and never stays behind.
*/
async function migrateSchema(target, { dryRun }) {
	const sinceElapsed = target.clock.elapsed();
	let from = null;
	const steps = [];
	for (;;) {
		const before = await readSchema(target);
		refuseTooNew(before, target.place);
		from ??= before.version;
		const todo = missingSteps(before);
		if (dryRun) return {
			from,
			steps: todo
		};
		if (todo.length === 0) return steps.length > 0 ? {
			from,
			steps
		} : {
			from: before.version,
			steps
		};
		const done = await target.database.transaction((inside, allow) => runSteps(inside, allow, target));
		if (done === null) {
			if (target.clock.elapsed() - sinceElapsed > stepsMs) throw isBeingMigrated(target.place);
			await target.clock.sleep(lookAgainMs);
		} else steps.push(...done);
	}
}
/** Runs the steps of one transaction and returns their names; null: another process runs them. */
async function runSteps(inside, allow, { schema, place }) {
	const [lock] = await inside.query(`SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))
       AND pg_try_advisory_xact_lock_shared(hashtextextended($2, 0)) AS held`, [`duly.migrate.${schema}`, "duly.move"]);
	if (lock?.held !== true) return null;
	await allow(stepsMs);
	const state = await readSchema({
		database: inside,
		schema,
		place
	});
	refuseTooNew(state, place);
	if (state.fenced) return [];
	if (state.version === 0) {
		const [named] = await inside.query("SELECT to_regnamespace($1) IS NOT NULL AS exists", [`"${schema}"`]);
		if (named?.exists !== true) await inside.query(`CREATE SCHEMA "${schema}"`);
	}
	const steps = schemaSteps.filter((step) => step.number > state.version);
	for (const step of steps) await inside.query(inSchema(step.sql, schema));
	if (steps.length > 0) await writeMeta(inside, schema, "schema_version", schemaVersion);
	const set = state.version === 0 || steps.length === 0 ? await createFunctions(inside, schema, state) : [];
	return [...steps.map((step) => step.name), ...set];
}
/** Creates the functions of this code, beside those of the releases whose nodes may still run. */
async function createFunctions(inside, schema, state) {
	const { number, hash, sql } = functionSet;
	if (state.sets.get(number) === hash) return [];
	const newest = Math.max(0, ...state.sets.keys());
	const isUpgrade = number > newest;
	const unused = isUpgrade ? [...state.sets.keys()].filter((set) => set < state.lowestCode) : [];
	for (const set of [...unused, number]) {
		await inside.query(inSchema(dropSet(set), schema));
		await inside.query(inSchema("DELETE FROM duly.meta WHERE key IN ($1, $2)", schema), [`${setKey}${set}`, `${releasedKey}${set}`]);
	}
	await inside.query(inSchema(sql, schema));
	await writeMeta(inside, schema, `${setKey}${number}`, hash);
	if (functionSet.isReleased) await writeMeta(inside, schema, `${releasedKey}${number}`, 1);
	if (isUpgrade) await writeMeta(inside, schema, lowestSetKey, state.sets.size === 0 ? number : newest);
	await writeMeta(inside, schema, "lowest_code", beforeRelease);
	await inside.query(inSchema(statements.call.keepDays, schema), [
		null,
		9,
		0
	]);
	return [`${setKey}${number}`];
}
/** Drops every function and view of a set. An older text of the set may have had others. */
function dropSet(set) {
	return `DO $$
    DECLARE
      v_schema oid := (SELECT relnamespace FROM pg_class WHERE oid = 'duly.meta'::regclass);
      v_what text;
    BEGIN
      FOR v_what IN
        SELECT format('FUNCTION %s', oid::regprocedure) FROM pg_proc WHERE pronamespace = v_schema AND proname ~ '_f${set}$'
        UNION ALL
        SELECT format('VIEW %s', oid::regclass) FROM pg_class
        WHERE relnamespace = v_schema AND relkind = 'v' AND relname ~ '_f${set}$'
      LOOP
        EXECUTE format('DROP %s CASCADE', v_what);
      END LOOP;
    END $$`;
}
async function writeMeta(inside, schema, key, value) {
	await inside.query(inSchema("INSERT INTO duly.meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value", schema), [key, value]);
}
function isFromBefore(schema, place) {
	return dulyError("schema_too_old", {
		message: `The store at ${place} was created by a version of Duly from before the first release, and cannot be upgraded.`,
		hint: `Create a new store: name another schema with "?schema=…", or delete this one with all its jobs: DROP SCHEMA "${schema}" CASCADE`,
		details: {
			place,
			schema
		}
	});
}
function isBeingMigrated(place) {
	return dulyError("store_busy", {
		message: `Somebody else has been migrating the store at ${place} for ${stepsMs / 6e4} minutes. Nothing was changed.`,
		hint: "Find the session that holds the lock: SELECT a.* FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE l.locktype = 'advisory';",
		details: { place }
	});
}
// packages/core/src/engines/shared/pool.ts
const noServer = "no-server.invalid";
/** Takes an address of a PostgreSQL apart; null: it cannot be read. Its text again: `textOfPostgresUrl`. */
function readPostgresUrl(text) {
	const url = URL.parse(text) ?? URL.parse(text.replace(/^(\w+:\/\/[^/]*@)\//, `$1${noServer}/`));
	return url !== null && /^postgres(ql)?:$/.test(url.protocol) ? url : null;
}
/** The address as `pg` reads it. */
function textOfPostgresUrl(url) {
	return url.href.replace(`@${noServer}/`, "@/");
}
/** Host, port, database and schema of an address: what may be shown. */
function placeOfUrl(text, schema) {
	const url = readPostgresUrl(text);
	if (url === null) return `postgres://?schema=${schema}`;
	const named = url.searchParams.get("host");
	return `postgres://${named === null ? url.host.replace(noServer, "") : encodeURIComponent(named)}${url.pathname}?schema=${schema}`;
}
/** The same of a pool, as far as it tells. */
function placeOfPool({ options }, schema) {
	const { host, port, database, connectionString } = options ?? {};
	if (typeof connectionString === "string") return placeOfUrl(connectionString, schema);
	return `postgres://${`${host ?? process.env.PGHOST ?? "localhost"}:${port ?? process.env.PGPORT ?? 5432}`}/${database ?? process.env.PGDATABASE ?? ""}?schema=${schema}`;
}
// packages/core/src/engines/postgres/driver.ts
/** Loads `pg`, which is only needed by those who use PostgreSQL. */
async function loadPg() {
	try {
		const { default: pg } = await import("pg");
		return pg;
	} catch (cause) {
		throw dulyError("driver_missing", {
			message: "The PostgreSQL engine needs the \"pg\" package, which is not installed.",
			hint: "Run: npm install pg",
			details: { package: "pg" },
			cause
		});
	}
}
/**
* Makes numbers of what fits into one. `pg` gives 64-bit integers as text unless told otherwise, and what a program told it for
* its own queries must not change ours.
*/
const rowTypes = { getTypeParser: (oid) => parsers.get(oid) ?? asText };
const asText = (text) => text;
const parsers = new Map([
	[16, (text) => text === "t"],
	...[
		20,
		21,
		23,
		26,
		700,
		701,
		1700
	].map((oid) => [oid, Number]),
	...[114, 3802].map((oid) => [oid, (text) => JSON.parse(text)])
]);
// packages/core/src/engines/postgres/connect.ts
const connectMs = 1e4;
const aliveMs = 1e4;
const goodbyeMs = 1e3;
/** Loads the driver and makes a pool, or takes the one that is given. Connects to nothing yet. */
async function createConnector(target) {
	const { connection, listenUrl, schema, poolSize } = target;
	const common = {
		application_name: "duly",
		connectionTimeoutMillis: connectMs,
		keepAlive: true,
		keepAliveInitialDelayMillis: aliveMs
	};
	if (typeof connection !== "string") {
		const { Client, options } = connection;
		const pg = listenUrl === null ? null : await loadPg();
		watch(connection);
		return {
			pool: connection,
			place: placeOfPool(connection, schema),
			createListener() {
				if (pg !== null) return new pg.Client({
					...common,
					connectionString: listenUrl
				});
				if (Client === void 0 || options === void 0) return null;
				return new Client(options);
			},
			createFallback: Client === void 0 || options === void 0 ? null : () => new Client(options),
			async end() {}
		};
	}
	const pg = await loadPg();
	const pool = new pg.Pool({
		...common,
		connectionString: connection,
		max: poolSize
	});
	pool.on("error", () => {});
	pool.on("connect", listenFromTheStart);
	const open = /* @__PURE__ */ new Set();
	pool.on("connect", (client) => {
		open.add(client);
		client.on("end", () => open.delete(client));
	});
	return {
		pool,
		place: placeOfUrl(connection, schema),
		createListener: () => new pg.Client({
			...common,
			connectionString: listenUrl ?? connection
		}),
		createFallback: null,
		end: () => endPool(pool, open, target.clock)
	};
}
const watchedPools = /* @__PURE__ */ new WeakSet();
/**
* Listens for what nobody else may listen for, once for each pool of the program's own, however many stores are opened behind it. A pool
* without a listener for errors ends the process when an idle connection breaks; the next call finds out by itself.
*/
function watch(pool) {
	if (watchedPools.has(pool)) return;
	watchedPools.add(pool);
	pool.on("error", () => {});
	pool.on("connect", listenFromTheStart);
}
/**
* Ends a pool. A connection that was cut off without a word does not answer to a goodbye: it would keep the process alive until TCP gives it
* up, a quarter of an hour later.
*/
async function endPool(pool, open, clock) {
	await pool.end();
	if (open.size === 0) return;
	clock.after(goodbyeMs, () => {
		for (const client of open) client.connection?.stream?.destroy();
	});
}
/**
* Ends a connection that was silent for too long. A reset discards what was not sent yet; after an ordinary close TCP would go on sending it,
* and the server would execute a call that was repeated on another connection meanwhile. Only a plain TCP socket can be reset: TLS and Unix
* sockets are closed.
*/
function resetConnection(client) {
	const stream = client.connection?.stream;
	try {
		stream?.resetAndDestroy?.();
	} catch {
		stream?.destroy();
	}
}
/**
* A server may end a connection in the same breath in which it is made: then the error comes after the pool has let go of the connection and
* before whoever asked for it has it, and an error that nobody listens for ends the process, or the store's thread.
*/
function listenFromTheStart(client) {
	client.on("error", () => {});
}
// packages/core/src/engines/postgres/store-error.ts
/** The SQLSTATE of an error of the server; null: it came from the network or the driver. */
function sqlStateOf(error) {
	const { code, severity } = error ?? {};
	return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && typeof severity === "string" ? code : null;
}
const dayCreated = "23514";
const endedMeanwhile = "DU010";
const viewOfSet = /_f\d+(?![\w.])/;
const idleTooLong = ["57P05", "25P03"];
/** Whether a transaction was never begun, or rolled back, for a reason that has passed: the same again will go through. */
function isRetryable(error) {
	const state = sqlStateOf(error);
	if (state === null) return wasNotSent(error);
	return [
		"40001",
		"40P01",
		dayCreated,
		endedMeanwhile,
		...idleTooLong
	].includes(state);
}
/** The connection broke after the pool had given it and before anything was sent: `pg` says so by words alone. */
function wasNotSent(error) {
	return error instanceof Error && error.message.endsWith("is not queryable");
}
/** Whether the server, or a pooler before it, has no further connection for this process. */
function isTooManyConnections(error) {
	const state = sqlStateOf(error);
	return state === "53300" || state === "08P01" && error.message.includes("no more connections allowed");
}
/**
* Whether the connection must not be used again: it is broken, or leads to a server that does not take writes (a primary that became a
* standby), while a new one may lead to the right one.
*/
function isConnectionSpent(error) {
	const state = sqlStateOf(error);
	return state === null || state === "25006" || meansGone(state);
}
/** Wraps what `pg` threw into an error with a code. Errors of Duly pass unchanged. */
function storeError(error, at) {
	if (error instanceof DulyError) return error;
	const state = sqlStateOf(error);
	if (state === null || meansGone(state)) return unavailable(error, at);
	const { place } = at;
	const details = {
		place,
		sqlState: state
	};
	const said = error.message;
	switch (state) {
		case "25006": return dulyError("store_read_only", {
			message: `The PostgreSQL at ${place} does not take writes: it is a standby, or its transactions are read-only by default.`,
			hint: "Give the address of the primary. After a failover the old address may still lead to the old server.",
			details,
			cause: error
		});
		case "53100": return dulyError("store_full", {
			message: `The disk of the PostgreSQL at ${place} is full. Nothing of this call was stored.`,
			hint: "Free some space; the next call goes on as if nothing had happened.",
			details,
			cause: error
		});
		case "40001":
		case "40P01":
		case dayCreated:
		case "55P03":
		case "57014":
		case "53200":
		case "53400": return dulyError("store_busy", {
			message: `The PostgreSQL at ${place} could not do this in time because of what others do on it (${said}). Nothing of this call was stored.`,
			hint: "Look for a transaction that stays open: SELECT pid, state, xact_start, query FROM pg_stat_activity ORDER BY xact_start;",
			details,
			cause: error
		});
		case "3D000":
		case "3F000":
		case "42P01":
			if (viewOfSet.test(said)) return functionsGone(error, place);
			return dulyError("store_not_found", {
				message: `There is no store at ${place}: ${said}.`,
				hint: state === "3D000" ? "Create the database first (createdb), or name another one in the address." : "Its tables are not there (any more). Create them with: duly migrate",
				details,
				cause: error
			});
		case "42883": return functionsGone(error, place);
		case "28000":
		case "28P01":
		case "42501": return dulyError("store_denied", {
			message: `The PostgreSQL at ${place} does not allow this: ${said}.`,
			hint: state === "42501" ? "Give this role the right to use the schema and its tables, or run \"duly migrate\" once with the role that owns them." : "Check the user, the password and pg_hba.conf.",
			details,
			cause: error
		});
		case "XX001":
		case "XX002": return dulyError("store_corrupt", {
			message: `The PostgreSQL at ${place} says that its data are damaged: ${said}`,
			hint: "Stop, keep a copy of the server's files, and restore a backup.",
			details,
			cause: error
		});
		default: return dulyError("internal", {
			message: `PostgreSQL refused a statement of Duly at ${place} (${state}): ${said}`,
			hint: "This is a defect of Duly. Please report it with this message.",
			details,
			cause: error
		});
	}
}
/** The server, or a pooler before it, is going, coming or not reachable; or has no connection to give. */
function meansGone(state) {
	return state.startsWith("08") || state.startsWith("57P") || state === "53300" || state === "58000" || state === "58030";
}
/** A newer release drops the functions and views of releases that it no longer serves. */
function functionsGone(error, place) {
	return dulyError("schema_too_new", {
		message: `The store at ${place} does not have the functions that this version of Duly calls: ${error.message}.`,
		hint: "Update Duly in this process, or restart it if its code changed. Nothing of this call was stored.",
		details: {
			place,
			sqlState: sqlStateOf(error)
		},
		cause: error
	});
}
function unavailable(error, { place, unknown }) {
	const said = error?.message || error?.code || String(error);
	return dulyError("store_unavailable", {
		message: `The PostgreSQL at ${place} ${unknown ? "was lost before it answered" : "cannot be reached"}: ${said}.`,
		hint: unknown ? "The call may have taken effect; its answer was lost." : "Nothing of this call was stored. Check that the server runs, that its address is right and that it has connections left.",
		details: {
			place,
			unknown,
			sqlState: sqlStateOf(error)
		},
		cause: error
	});
}
// packages/core/src/engines/postgres/connection.ts
/** One connection while a call uses it. */
var Connection = class {
	/** Other calls must not use it after this one: it is broken, or its state is unknown. */
	isSpent = false;
	/** A statement that commits was sent and not answered. */
	isUnknown = false;
	#client;
	#place;
	#giveBack;
	#isReleased = false;
	#onError = () => {
		this.isSpent = true;
	};
	constructor(client, place, giveBack) {
		this.#client = client;
		this.#place = place;
		this.#giveBack = giveBack;
		client.on("error", this.#onError);
	}
	/** Runs one statement. `commits`: until the answer it is unknown whether the call took effect. */
	async ask(text, values, commits = false) {
		return (await this.#send(text, values, commits)).rows;
	}
	/** Commits the transaction. Throws if the server rolled it back instead. */
	async commit() {
		const { command } = await this.#send("COMMIT", [], true);
		if (command === "COMMIT") return;
		throw dulyError("internal", {
			message: `A transaction at ${this.#place} was rolled back when it should have been committed (${command}).`,
			hint: "This is a defect of Duly. Please report it with this message.",
			details: { place: this.#place }
		});
	}
	async #send(text, values = [], commits) {
		this.isUnknown = commits;
		try {
			const result = await this.#client.query({
				text,
				values,
				types: rowTypes
			});
			this.isUnknown = false;
			return result;
		} catch (error) {
			this.isSpent ||= isConnectionSpent(error);
			throw storeError(error, {
				place: this.#place,
				unknown: commits
			});
		}
	}
	/** Ends the use by this call. Later calls of `release` do nothing. */
	release(destroy) {
		if (this.#isReleased) return;
		this.#isReleased = true;
		this.#client.off("error", this.#onError);
		this.#giveBack(this.#client, destroy);
	}
};
/** Runs `fn` in a transaction that `begin` opens. Commits it, or rolls it back if `fn` throws. */
async function inTransaction(connection, begin, fn) {
	await connection.ask(begin);
	const inside = {
		query: (text, values) => connection.ask(text, values),
		transaction: (part) => part(inside, async () => {})
	};
	let result;
	try {
		result = await fn(inside);
	} catch (error) {
		if (!connection.isSpent) await connection.ask("ROLLBACK").catch(() => {});
		throw error;
	}
	await connection.commit();
	return result;
}
// packages/core/src/engines/postgres/fallback-connection.ts
const fallbackAfterMs = 1e3;
const idleMs = 6e4;
/** Creates a fallback connection without connecting. */
function createFallbackConnection(options) {
	const { create, clock } = options;
	/** Open and unused. */
	let idle = null;
	let ending = null;
	/** Settles when the last caller in the queue has released the connection. */
	let turn = Promise.resolve();
	let isClosed = false;
	function end(client) {
		if (idle === client) idle = null;
		client.end().catch(() => {});
	}
	async function connected() {
		ending?.cancel();
		const client = idle ?? create();
		if (client !== idle) {
			client.on("error", () => end(client));
			await client.connect();
		}
		idle = null;
		return client;
	}
	return {
		async take() {
			const before = turn;
			const { promise, resolve } = Promise.withResolvers();
			turn = promise;
			await before;
			try {
				const client = await connected();
				const release = (destroy) => {
					if (destroy === true) {
						end(client);
						client.connection?.stream?.destroy();
					} else if (isClosed) end(client);
					else {
						idle = client;
						ending = clock.after(idleMs, () => end(client), { unref: true });
					}
					resolve();
				};
				return Object.assign(client, { release });
			} catch (error) {
				resolve();
				throw error;
			}
		},
		close() {
			isClosed = true;
			ending?.cancel();
			if (idle !== null) end(idle);
		}
	};
}
/**
* Acquires a connection of the pool, or the fallback connection if the pool has none for too long. Handlers
* may hold every connection of the program's own pool for minutes, and leases must be renewed meanwhile.
*/
function acquireWithFallback(pool, fallback, clock) {
	const connecting = pool.connect();
	return new Promise((resolve, reject) => {
		let isOver = false;
		const give = (client) => {
			timer.cancel();
			if (isOver) client.release();
			isOver = true;
			resolve(client);
		};
		const timer = clock.after(fallbackAfterMs, () => fallback.take().then(give, () => {}));
		connecting.then(give, (error) => {
			timer.cancel();
			isOver = true;
			reject(error);
		});
	});
}
// packages/core/src/engines/postgres/idle-connections.ts
/**
* Connections that stay out of the pool, ready for the next call. To acquire a connection from the pool and
* to release it takes longer than to send a short statement.
*/
var IdleConnections = class {
	#clock;
	#keepMs;
	/** The connection that was used last is at the end. */
	#idle = [];
	#max = 1;
	#isPinned = false;
	#expiry = null;
	/** `keepMs`: how long a connection stays until it is released to the pool; 0: none stays. */
	constructor(clock, keepMs) {
		this.#clock = clock;
		this.#keepMs = keepMs;
	}
	/** Removes and returns the wanted connection that was used last; null: there is none. */
	take(isWanted = () => true) {
		const one = this.#idle.findLast(({ client }) => isWanted(client));
		if (one === void 0) return null;
		const { client, lose } = one;
		this.#idle = this.#idle.filter((other) => other !== one);
		client.off("error", lose);
		client.ref?.();
		return client;
	}
	/** Whether another connection may stay out of the pool. */
	hasRoom() {
		return this.#keepMs > 0 && this.#idle.length < this.#max;
	}
	/** Adds a connection that no call uses now. */
	add(client) {
		const lose = () => this.take((other) => other === client)?.release(true);
		this.#idle.push({
			client,
			lose,
			sinceElapsed: this.#clock.elapsed()
		});
		client.on("error", lose);
		client.unref?.();
		if (!this.#isPinned) this.#expiry ??= this.#releaseAfter(this.#keepMs);
	}
	/**
	* From now on, `count` connections stay, for any time: to warm them up again takes as long as several
	* calls.
	*/
	pin(count) {
		this.#max = count;
		this.#isPinned = true;
	}
	/** Releases all connections to the pool. */
	close() {
		this.#expiry?.cancel();
		for (let client = this.take(); client !== null; client = this.take()) client.release();
	}
	#releaseAfter(ms) {
		return this.#clock.after(ms, () => this.#releaseExpired(), { unref: true });
	}
	#releaseExpired() {
		this.#expiry = null;
		const [oldest] = this.#idle;
		if (oldest === void 0 || this.#isPinned) return;
		const leftMs = this.#keepMs - (this.#clock.elapsed() - oldest.sinceElapsed);
		if (leftMs <= 0) this.take()?.release();
		else this.#expiry = this.#releaseAfter(leftMs);
	}
};
// packages/core/src/engines/postgres/time-limit.ts
/**
* Runs `use` for at most `ms`, or as long as it allows itself. After that it rejects and calls `giveUp`,
* because a server that was cut off without a message never answers.
*/
function withinTime(clock, ms, use, giveUp) {
	return new Promise((resolve, reject) => {
		const limit = (limitMs) => clock.after(limitMs, () => {
			giveUp(limitMs);
			reject(/* @__PURE__ */ new Error(`no answer within ${limitMs} ms`));
		});
		let timer = limit(ms);
		const allow = (limitMs) => {
			timer.cancel();
			timer = limit(limitMs);
		};
		use(allow).then(resolve, reject).finally(() => timer.cancel());
	});
}
// packages/core/src/engines/postgres/connections.ts
const reconnectMs = 1e3;
/** Gives each call a connection. If the server has none left, calls wait for each other. */
var Connections = class {
	#options;
	#idle;
	/** Connections that calls use now, and how often one was given back. */
	#usedCount = 0;
	#givenBackCount = 0;
	/** Calls that wait for a connection of the pool. */
	#connectingCount = 0;
	/** Calls that wait for a connection of another call, because the server refused a further one. */
	#waiting = [];
	/** The server's last error about too many connections, and when it came. */
	#refusal = null;
	#refusedElapsed = Number.NEGATIVE_INFINITY;
	/** When each connection was last used. A new one is not in it. */
	#receivedElapsed = /* @__PURE__ */ new WeakMap();
	/** When the connection that was last given up became silent. Connections silent since then are lost too. */
	#silentElapsed = Number.NEGATIVE_INFINITY;
	constructor(options) {
		this.#options = options;
		this.#idle = new IdleConnections(options.clock, options.keepMs);
	}
	/** Runs `use` on one connection. */
	async use(use) {
		return this.#useClient(await this.#take(), use);
	}
	/** Warms up `count` connections, one after the other, and pins them. Stops early when `isStopped`. */
	async warmUp(count, use, isStopped) {
		this.#idle.pin(count);
		const ready = /* @__PURE__ */ new Set();
		while (!isStopped() && ready.size < count) {
			const client = this.#idle.take((other) => !ready.has(other)) ?? await this.#acquire();
			this.#usedCount++;
			ready.add(client);
			await this.#useClient(client, use);
		}
	}
	/** Releases the idle connections to the pool. Only after the last call. */
	close() {
		this.#idle.close();
		this.#options.fallback?.close();
	}
	/** Afterwards the connection serves other calls, or is closed if its state is unknown. */
	async #useClient(client, use) {
		const { place, clock, callMs } = this.#options;
		const connection = new Connection(client, place, this.#giveBack);
		const giveUp = (afterMs) => {
			this.#silentElapsed = clock.elapsed() - afterMs;
			connection.release(true);
			resetConnection(client);
		};
		try {
			return await withinTime(clock, callMs, (allow) => use(connection, allow), giveUp);
		} catch (error) {
			throw storeError(error, {
				place,
				unknown: connection.isUnknown
			});
		} finally {
			this.#receivedElapsed.set(client, clock.elapsed());
			connection.release(connection.isSpent);
		}
	}
	/** Skips connections that are probably lost: each would cost its caller the whole time of a call. */
	async #take() {
		for (;;) {
			const client = this.#idle.take() ?? await this.#connect();
			if ((this.#receivedElapsed.get(client) ?? Number.POSITIVE_INFINITY) >= this.#silentElapsed) {
				this.#usedCount++;
				return client;
			}
			client.release(true);
		}
	}
	#giveBack = (client, destroy) => {
		this.#usedCount--;
		this.#givenBackCount++;
		const next = this.#waiting.shift();
		if (next !== void 0) {
			if (destroy) client.release(true);
			next(destroy ? "room" : client);
			return;
		}
		if (destroy || !this.#idle.hasRoom() || this.#connectingCount > 0) client.release(destroy);
		else this.#idle.add(client);
	};
	/** Acquires a connection. If the server has none left, waits for the other calls of this process. */
	async #connect() {
		const { place, clock, callMs } = this.#options;
		const sinceElapsed = clock.elapsed();
		for (;;) {
			const before = this.#givenBackCount;
			try {
				if (this.#mayConnect()) return await this.#acquire();
				throw this.#refusal;
			} catch (error) {
				if (this.#mayConnect() && isTooManyConnections(error)) this.#noteRefusal(error);
				const leftMs = callMs - (clock.elapsed() - sinceElapsed);
				const next = await (isTooManyConnections(error) && leftMs > 0 ? this.#waitForOthers(before, leftMs) : "nothing");
				if (this.#usedCount + this.#connectingCount === 0) for (const resume of this.#waiting.splice(0)) resume("nothing");
				if (next === "nothing") throw storeError(error, {
					place,
					unknown: false
				});
				if (next !== "room") return next;
			}
		}
	}
	#noteRefusal(error) {
		this.#refusal = error;
		this.#refusedElapsed = this.#options.clock.elapsed();
	}
	/** Each attempt costs the server a process, so attempts pause while other calls have connections. */
	#mayConnect() {
		const { pool, clock } = this.#options;
		return this.#usedCount === 0 || (pool.idleCount ?? 0) > 0 || clock.elapsed() - this.#refusedElapsed > reconnectMs;
	}
	/**
	* Waits until another call gives a connection back, at most `ms`. Does not wait if that happened since the
	* attempt began, when the count was `before`, or if no other call has a connection.
	*/
	async #waitForOthers(before, ms) {
		const client = this.#idle.take();
		if (client !== null) return client;
		if (this.#givenBackCount > before) return "room";
		if (this.#usedCount + this.#connectingCount === 0) return "nothing";
		return new Promise((resolve) => {
			const resume = (next) => {
				timer.cancel();
				resolve(next);
			};
			const timer = this.#options.clock.after(ms, () => {
				this.#waiting.splice(this.#waiting.indexOf(resume), 1);
				resolve("nothing");
			});
			this.#waiting.push(resume);
		});
	}
	/** One attempt to acquire a connection of the pool, or the fallback connection. */
	async #acquire() {
		const { pool, fallback, clock, callMs } = this.#options;
		const connecting = fallback === null ? pool.connect() : acquireWithFallback(pool, fallback, clock);
		let isLate = false;
		this.#connectingCount++;
		try {
			return await withinTime(clock, callMs, () => connecting, () => {
				isLate = true;
			});
		} catch (error) {
			if (isLate) connecting.then((client) => client.release()).catch(() => {});
			throw error;
		} finally {
			this.#connectingCount--;
		}
	}
};
// packages/core/src/engines/postgres/warm-up.ts
const quietMs = 500;
const checkCountMax = 20;
/** Creates a warm-up that is not started. */
function createWarmUp({ clock, isBusy }) {
	let timer = null;
	function check(warmUp, checksLeft) {
		timer = clock.after(quietMs, () => {
			if (checksLeft === 0) return;
			if (isBusy()) check(warmUp, checksLeft - 1);
			else warmUp();
		}, { unref: true });
	}
	return {
		whenQuiet(warmUp) {
			if (timer === null) check(warmUp, checkCountMax);
		},
		cancel: () => timer?.cancel()
	};
}
// packages/core/src/engines/postgres/database.ts
const retryMax = 5;
const firstRetryMs = 5;
/**
* Creates a database on a pool. A query is a transaction of its own; `transaction` holds one connection for
* several statements. Settings are made for one transaction (SET LOCAL), so a pooler may use another session
* for each.
*/
function createDatabase(options) {
	const { pool, place, clock, random, callMs, lockMs, keepMs = 0, fallback = null } = options;
	const connections = new Connections({
		pool,
		place,
		clock,
		callMs,
		keepMs,
		fallback
	});
	const running = /* @__PURE__ */ new Set();
	const warmUp = createWarmUp({
		clock,
		isBusy: () => running.size > 0
	});
	let isClosed = false;
	const begin = `BEGIN ISOLATION LEVEL READ COMMITTED; ${limits(lockMs, callMs)}`;
	function trackInFlight(call) {
		if (isClosed) return Promise.reject(closedError(place));
		const answer = retryRolledBack(call, clock, random);
		running.add(answer);
		const forget = () => running.delete(answer);
		answer.then(forget, forget);
		return answer;
	}
	return {
		query: (text, values) => trackInFlight(() => connections.use((connection) => connection.ask(text, values, true))),
		transaction: (fn) => trackInFlight(() => connections.use((connection, allow) => inTransaction(connection, begin, (inside) => fn(inside, async (ms) => {
			allow(ms);
			await inside.query(limits(ms, ms));
		})))),
		warmUp(text, count) {
			if (keepMs === 0) return;
			const run = (connection) => runWarmUp(connection, text);
			warmUp.whenQuiet(() => {
				trackInFlight(() => connections.warmUp(count, run, () => isClosed)).catch(() => {});
			});
		},
		async close() {
			isClosed = true;
			warmUp.cancel();
			await Promise.allSettled(running);
			connections.close();
		}
	};
}
/** The server ends a slow call shortly before the process gives it up, so that its error still arrives. */
function limits(lockMs, callMs) {
	return `SET LOCAL lock_timeout = ${lockMs}; SET LOCAL statement_timeout = ${Math.ceil(callMs * .9)}`;
}
async function runWarmUp(connection, text) {
	connection.isSpent = true;
	await connection.ask(text);
	connection.isSpent = false;
}
/**
* Repeats a call that the server rolled back because of a deadlock or a conflict, or that it never began
* because the session was ended for being idle.
*/
async function retryRolledBack(once, clock, random) {
	for (let tries = 0;; tries++) try {
		return await once();
	} catch (error) {
		if (!isRetryable(error.cause) || tries >= retryMax) throw error;
		await clock.sleep(firstRetryMs * 2 ** tries * (.5 + random.next() / 2));
	}
}
function closedError(place) {
	return dulyError("store_closed", {
		message: `The store at ${place} was closed.`,
		hint: "Open a new one; a closed store stays closed.",
		details: { place }
	});
}
// packages/core/src/engines/postgres/listener.ts
const probeTimeoutMs = 2e3;
/** Creates a listener on one connection. */
function createListenerOn({ client, channel, clock, receive }) {
	const { promise: ended, resolve } = Promise.withResolvers();
	let isProven = false;
	let isEnded = false;
	let expected = null;
	function close() {
		if (isEnded) return;
		isEnded = true;
		expected?.cancel();
		client.end().catch(() => {});
		client.connection?.stream?.destroy();
		resolve();
	}
	client.on("notification", (message) => {
		if (message.channel === channel && !isEnded) receive(message.payload ?? "");
	});
	client.on("error", close);
	client.on("end", close);
	return {
		ended,
		async open() {
			const listening = client.connect().then(() => client.query({ text: `LISTEN "${channel}"` }));
			listening.catch(close);
			await Promise.race([listening, ended]).catch(() => {});
			return !isEnded;
		},
		expectProbe() {
			expected ??= clock.after(probeTimeoutMs, close, { unref: true });
		},
		onProbe() {
			isProven = true;
			expected?.cancel();
			expected = null;
		},
		isProven: () => isProven,
		close
	};
}
// packages/core/src/engines/postgres/notification-payload.ts
const lengthMax = 7900;
/** What is sent to other processes: `<sender> jobs:<type>,<type> cancel`. It holds no quote and no backslash, so it needs no escaping in SQL. */
function writePayload(sender, notifications) {
	const full = [sender, ...notifications.map(written)].join(" ");
	if (full.length <= lengthMax) return full;
	return [sender, ...notifications.map(({ kind }) => kind)].join(" ");
}
/** The sender and its notifications. */
function readPayload(payload) {
	const [sender, ...rest] = payload.split(" ");
	return {
		sender,
		notifications: rest.map(read)
	};
}
function written({ kind, types }) {
	return types === void 0 ? kind : `${kind}:${types.map(encoded).join(",")}`;
}
function read(text) {
	const [kind, types] = text.split(":");
	if (types === void 0) return { kind };
	try {
		return {
			kind,
			types: types.split(",").map(decodeURIComponent)
		};
	} catch {
		return { kind };
	}
}
/** Leaves of the printable characters only letters, digits and -_.!~*() as they are. */
function encoded(type) {
	return encodeURIComponent(type).replaceAll("'", "%27");
}
// packages/core/src/engines/postgres/notifier.ts
const gapMs = 5;
const firstBackoffMs = 100;
const backoffMsMax = 6e4;
const notifyStatement = (channel, payload) => `SET LOCAL synchronous_commit = off; NOTIFY "${channel}", '${payload}'`;
const kinds$2 = [
	"jobs",
	"cancel",
	"schedules",
	"locks"
];
/** Creates the notifier of one engine. */
function createNotifier(options) {
	const { database, createListener, schema, clock, random, onNotification } = options;
	const channel = channelOf(schema);
	const sender = Math.floor(random.next() * 2 ** 52).toString(36);
	const closing = new AbortController();
	const outgoing = createOutgoing({
		database,
		channel,
		sender,
		clock,
		closing: closing.signal
	});
	let listening = null;
	/** The connection that listens now. */
	let listener = null;
	function receive(payload) {
		const { sender: from, notifications } = readPayload(payload);
		for (const notification of notifications) {
			const isProbe = notification.kind === "probe";
			if (from === sender !== isProbe) continue;
			if (isProbe) listener?.onProbe();
			onNotification(notification);
		}
	}
	async function probe() {
		listener?.expectProbe();
		await outgoing.post([{ kind: "probe" }]);
	}
	/** Listens on one connection after the other, until the notifier is closed. */
	async function keepListening() {
		let failures = 0;
		let hasListened = false;
		while (!closing.signal.aborted) {
			const client = createListener();
			if (client === null) return;
			const one = createListenerOn({
				client,
				channel,
				clock,
				receive
			});
			listener = one;
			if (await one.open()) {
				if (hasListened) for (const kind of kinds$2) onNotification({ kind });
				await probe().catch(() => one.close());
				await one.ended;
			}
			listener = null;
			hasListened ||= one.isProven();
			failures = one.isProven() ? 1 : failures + 1;
			if (closing.signal.aborted) return;
			onNotification({ kind: "disconnected" });
			const pauseMs = Math.min(firstBackoffMs * 2 ** (failures - 1), backoffMsMax);
			await clock.sleep(pauseMs * (.5 + random.next() / 2), closing.signal);
		}
	}
	return {
		listen() {
			if (!closing.signal.aborted) listening ??= keepListening();
		},
		notify: outgoing.notify,
		probe,
		async close() {
			closing.abort();
			listener?.close();
			await outgoing.finished();
			await listening;
		}
	};
}
function createOutgoing({ database, channel, sender, clock, closing }) {
	const pending = new NotificationSet();
	let sending = null;
	async function post(notifications) {
		await database.query(notifyStatement(channel, writePayload(sender, notifications)));
	}
	async function sendPending() {
		while (pending.size > 0) {
			await post(pending.takeAll()).catch(() => {});
			await clock.sleep(gapMs, closing);
		}
		sending = null;
	}
	return {
		notify(notifications) {
			pending.addAll(notifications);
			if (pending.size > 0 && !closing.aborted) sending ??= sendPending();
		},
		post,
		async finished() {
			await sending;
		}
	};
}
/** The channel of a schema. Stores in one database do not receive each other's notifications. */
function channelOf(schema) {
	return `duly.${schema}`;
}
// packages/core/src/engines/postgres/open-postgres.ts
const callMsDefault = 1e4;
const lockMs = 2e3;
const keepMsOwn = 6e4;
const readyCount = 3;
const versionMin = 13e4;
const warmUpStatement = `BEGIN ISOLATION LEVEL READ COMMITTED; SELECT ${ofSet("warm_up")}(); ROLLBACK`;
/** Reads them. */
const serverFacts = `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
  pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = 'on' AS readonly,
  current_setting('server_encoding') AS encoding, current_setting('default_transaction_isolation') AS isolation,
  current_setting('array_nulls') AS nulls, current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit, old.old_minutes, old.old_session
  FROM (SELECT 1) one LEFT JOIN LATERAL (
    SELECT floor(extract(epoch FROM clock_timestamp() - xact_start) / 60)::int AS old_minutes,
      pid || coalesce(' of ' || nullif(application_name, ''), '') AS old_session
    FROM pg_stat_activity
    WHERE datname = current_database() AND backend_xmin IS NOT NULL AND backend_type = 'client backend' AND pid <> pg_backend_pid()
    ORDER BY xact_start LIMIT 1) old ON true`;
const oldMinutes = 10;
/** Connects, looks at the server, and brings the schema up to this code; or says why not and leaves nothing open. */
async function openPostgres(options) {
	const { schema, clock, random, callMs = callMsDefault } = options;
	const connector = await createConnector(options);
	const { pool, place, createFallback } = connector;
	const fallback = createFallback === null ? null : createFallbackConnection({
		create: createFallback,
		clock
	});
	const keepMs = typeof options.connection === "string" ? keepMsOwn : 0;
	const database = createDatabase({
		pool,
		place,
		clock,
		random,
		callMs,
		lockMs,
		keepMs,
		fallback
	});
	const target = {
		database,
		schema,
		place,
		clock
	};
	let info;
	try {
		const [server] = await database.query(serverFacts);
		refuseUnfit(server, place);
		if (options.migrate !== "never") await prepare(target, options.migrate === "existing");
		const id = options.migrate === "never" ? null : await readStoreId(target);
		info = {
			kind: "postgres",
			...id === null ? {} : { id },
			place,
			version: server.version,
			wake: "push",
			isParallel: true,
			durable: true,
			warnings: warningsOf(server)
		};
	} catch (error) {
		await database.close();
		await connector.end();
		throw error;
	}
	const listeners = /* @__PURE__ */ new Set();
	const deliver = (notification) => {
		for (const listener of [...listeners]) listener(notification);
	};
	const notifier = createNotifier({
		database,
		schema,
		clock,
		random,
		createListener: connector.createListener,
		onNotification: deliver
	});
	let closing = null;
	return {
		database,
		schema,
		clock,
		info,
		migrate: (input) => migrateSchema(target, input),
		notify(notifications) {
			const list = [...notifications];
			for (const notification of list) deliver(notification);
			notifier.notify(list);
		},
		subscribe(listener) {
			listeners.add(listener);
			notifier.listen();
			database.warmUp(inSchema(warmUpStatement, schema), Math.min(readyCount, options.poolSize));
			return () => listeners.delete(listener);
		},
		probe: () => notifier.probe(),
		close() {
			closing ??= (async () => {
				await notifier.close();
				await database.close();
				await connector.end();
			})();
			return closing;
		}
	};
}
/** The number that names this store; null: a schema that a newer Duly left without one. */
async function readStoreId({ database, schema }) {
	const [row] = await database.query(inSchema("SELECT value FROM duly.meta WHERE key = 'store'", schema));
	return row?.value ?? null;
}
/** Nothing is missing as a rule, and then nobody has to be waited for. */
async function prepare(target, mustExist) {
	const { place, schema } = target;
	const state = await readSchema(target);
	refuseTooNew(state, place);
	if (mustExist && state.version === 0) throw dulyError("store_not_found", {
		message: `There is no store at ${place}: the schema "${schema}" is not there.`,
		hint: "Create it with \"duly migrate\", start one with \"duly up\", or name another with --store.",
		details: {
			place,
			schema
		}
	});
	if (missingSteps(state).length > 0) await migrateSchema(target, { dryRun: false });
}
function refuseUnfit(server, place) {
	const details = {
		place,
		version: server.version
	};
	const refuse = (message, hint) => {
		throw dulyError("postgres_unsupported", {
			message,
			hint,
			details
		});
	};
	if (server.number < versionMin) refuse(`The PostgreSQL at ${place} is version ${server.version}; Duly needs 13 or newer.`, "Update the server.");
	if (server.encoding !== "UTF8") refuse(`The database at ${place} is encoded in ${server.encoding}; Duly needs UTF8.`, "Create a database with it: createdb --encoding UTF8 --template template0 <name>");
	if (server.isolation !== "read committed") refuse(`Transactions at ${place} are "${server.isolation}" by default; Duly needs "read committed".`, "Set it for Duly's role: ALTER ROLE <role> SET default_transaction_isolation = 'read committed'");
	if (server.nulls !== "on") refuse(`Lists at ${place} cannot hold NULL (array_nulls is off); Duly needs that they can.`, "Set it for Duly's role: ALTER ROLE <role> SET array_nulls = on");
	if (server.standby || server.readonly) throw dulyError("store_read_only", {
		message: server.standby ? `The PostgreSQL at ${place} is a standby: it takes no writes.` : `The PostgreSQL at ${place} takes no writes: transactions are read-only by default.`,
		hint: server.standby ? "Give the address of the primary." : "Set default_transaction_read_only to off for this database and role.",
		details
	});
}
/** What a person should know about a server. */
function warningsOf({ fsync, commit, old_minutes: minutes, old_session: session }) {
	const warnings = [];
	if (minutes !== null && minutes >= oldMinutes) warnings.push(`Session ${session} has had a transaction open for ${minutes} minutes: nothing that ended since can leave the tables, and every claim has to step over it. Commit it, end the session, or set idle_in_transaction_session_timeout.`);
	if (fsync === "off") warnings.push("The PostgreSQL runs with fsync=off: when its machine loses power, the whole database may be damaged.");
	if (commit === "off") warnings.push("The PostgreSQL runs with synchronous_commit=off: when it crashes, promises of the last moments are lost although they were confirmed.");
	return warnings;
}
// packages/core/src/engines/postgres/transaction-watch.ts
const firstWaitMs = 1;
const longestWaitMs = 1e3;
const ageShare = .1;
/**
* Creates a watch. It asks the server what became of the transactions it was given, all with one statement, and sends the notifications of those that
* were committed. What it does not learn, the next poll of a node finds.
*/
function createTransactionWatch(options) {
	const { database, clock, notify } = options;
	const waiting = /* @__PURE__ */ new Map();
	const ended = new AbortController();
	let news = new AbortController();
	let isRunning = false;
	async function look() {
		const rows = await database.query("SELECT x AS xid, pg_xact_status(x::xid8) AS status FROM jsonb_array_elements_text($1::jsonb) x", [JSON.stringify([...waiting.keys()])]);
		const committed = new NotificationSet();
		for (const { xid, status } of rows) {
			if (status === "in progress") continue;
			if (status === "committed") committed.addAll(waiting.get(xid)?.notifications ?? []);
			waiting.delete(xid);
		}
		if (committed.size > 0) notify(committed);
	}
	function waitMs() {
		const now = clock.elapsed();
		const youngestMs = Math.min(...[...waiting.values()].map(({ sinceElapsed }) => now - sinceElapsed));
		return Math.min(longestWaitMs, Math.max(firstWaitMs, youngestMs * ageShare));
	}
	async function run() {
		isRunning = true;
		while (waiting.size > 0 && !ended.signal.aborted) {
			await clock.sleep(waitMs(), AbortSignal.any([ended.signal, news.signal]));
			news = new AbortController();
			if (ended.signal.aborted) break;
			await look().catch(() => clock.sleep(longestWaitMs, ended.signal));
		}
		isRunning = false;
	}
	return {
		watch({ transaction, notifications }) {
			if (ended.signal.aborted) return;
			if (transaction === null) {
				notify(notifications);
				return;
			}
			const known = waiting.get(transaction);
			if (known === void 0) {
				waiting.set(transaction, {
					notifications: new NotificationSet().addAll(notifications),
					sinceElapsed: clock.elapsed()
				});
				news.abort();
			} else known.notifications.addAll(notifications);
			if (!isRunning) run();
		},
		close: () => ended.abort()
	};
}
// packages/core/src/engines/shared/transaction-errors.ts
/** What was given as `tx` is of no kind that the store takes. */
function unknownTx(place, hint) {
	return dulyError("tx_unknown", {
		message: `What was given as "tx" is no transaction that can be used with the store at ${place}.`,
		hint,
		details: { place }
	});
}
/** The transaction is one of another database, or of another store in it. */
function otherStore(place, cause) {
	return dulyError("tx_other_store", {
		message: `The transaction is not one of the database that holds the store at ${place}; nothing was done.`,
		hint: "A job can only be created in a transaction of the very database that keeps it.",
		details: { place },
		...cause === void 0 ? {} : { cause }
	});
}
/** Nothing can be done in the transaction (any more). */
function notOpen(place, why, cause) {
	return dulyError("tx_not_open", {
		message: `The transaction cannot be used with the store at ${place}: ${why}.`,
		hint: "Begin it before, and commit it after the call; await the call before you commit.",
		details: { place },
		...cause === void 0 ? {} : { cause }
	});
}
// packages/core/src/engines/postgres/transactions/transaction.ts
/** Said by a library that does not tell whether a transaction is open. */
const unknownStatus = Symbol("unknown status");
/** What a library throws for a transaction that is over, in the words of the server: no transaction is active (25P01). */
function overError(cause) {
	const error = new Error(cause.message, { cause });
	return Object.assign(error, {
		code: "25P01",
		severity: "ERROR"
	});
}
// packages/core/src/engines/postgres/transactions/pg.ts
/** A client of `pg` on which BEGIN was sent. A pool is none: it gives every statement another connection. */
const recognisePg = (tx) => {
	const client = tx;
	if (!(typeof client.query === "function" && typeof tx.connect === "function") || client.totalCount !== void 0) return null;
	const { connection } = client;
	return {
		query: async (text, values) => (await client.query(text, values)).rows,
		refusal() {
			if (typeof client.getTransactionStatus !== "function") return unknownStatus;
			const status = client.getTransactionStatus();
			if (status === "I") return "no transaction is open on this client";
			if (status === "E") return "it has failed and can only be rolled back";
			return null;
		},
		...typeof connection?.on === "function" && typeof connection.off === "function" ? { onEnd(name, listener) {
			if (client.getTransactionStatus?.() === "I") listener("unknown");
			else listenersOf(connection).set(name, listener);
		} } : {}
	};
};
const listening = /* @__PURE__ */ new WeakMap();
/** Who is to be told of the end of the transaction that is open on a connection. However many calls are made in it, it is watched once. */
function listenersOf(connection) {
	const known = listening.get(connection);
	if (known !== void 0) return known;
	const listeners = /* @__PURE__ */ new Map();
	let lastCommand = "";
	function end(how) {
		connection.off("commandComplete", onCommand);
		connection.off("readyForQuery", onReady);
		connection.off("end", onGone);
		listening.delete(connection);
		for (const listener of listeners.values()) listener(how);
	}
	const onCommand = ({ text }) => {
		lastCommand = text;
		if (text === "COMMIT") end("committed");
	};
	const onReady = ({ status }) => {
		if (status === "I") end(lastCommand === "ROLLBACK" ? "rolled-back" : "unknown");
	};
	const onGone = () => end("unknown");
	connection.on("commandComplete", onCommand);
	connection.on("readyForQuery", onReady);
	connection.on("end", onGone);
	listening.set(connection, listeners);
	return listeners;
}
// packages/core/src/engines/postgres/transactions/postgres-js.ts
/** What `sql.begin` of postgres.js gives its callback. `sql` itself is none: it has no savepoints. */
const recognisePostgresJs = (tx) => {
	const sql = tx;
	if (typeof tx !== "function" || typeof sql.unsafe !== "function" || typeof sql.savepoint !== "function") return null;
	return {
		query: async (text, values) => [...await sql.unsafe(text, [...values])],
		refusal: () => unknownStatus
	};
};
// packages/core/src/engines/postgres/transactions/drizzle.ts
/** What `db.transaction` of Drizzle gives its callback, over `pg` or postgres.js: the connection underneath is used. */
const recogniseDrizzle = (tx) => {
	const { execute, rollback, session } = tx;
	if (typeof execute !== "function" || typeof rollback !== "function") return null;
	const client = session?.client;
	if (typeof client !== "object" && typeof client !== "function" || client === null) return null;
	return recognisePg(client) ?? recognisePostgresJs(client);
};
// packages/core/src/engines/postgres/transactions/knex.ts
/** A text between dollar quotes, as a whole, or the place of a value. */
const places = /\$([a-z]+)\$.*?\$\1\$|\$(\d+)/gs;
/** A transaction of Knex on PostgreSQL. */
const recogniseKnex = (tx) => {
	const trx = tx;
	if (!(typeof trx.raw === "function" && typeof trx.isCompleted === "function") || trx.isTransaction !== true) return null;
	return {
		async query(text, values) {
			const bindings = [];
			const bound = text.replaceAll("?", "\\?").replaceAll(places, (found, _tag, n) => {
				if (n === void 0) return found;
				bindings.push(values[Number(n) - 1] ?? null);
				return "?";
			});
			const answer = await trx.raw(bound, bindings);
			return Array.isArray(answer) ? answer : answer.rows;
		},
		refusal: () => trx.isCompleted() ? "it is over" : null
	};
};
// packages/core/src/engines/postgres/transactions/kysely.ts
/** A transaction of Kysely, from `transaction().execute` or `startTransaction`. */
const recogniseKysely = (tx) => {
	const trx = tx;
	if (typeof trx.executeQuery !== "function" || trx.isTransaction !== true) return null;
	return {
		async query(text, values) {
			const compiled = {
				sql: text,
				parameters: values,
				query: {
					kind: "RawNode",
					sqlFragments: [text],
					parameters: []
				},
				queryId: { queryId: "duly" }
			};
			try {
				return (await trx.executeQuery(compiled)).rows;
			} catch (error) {
				throw isOver(error) ? overError(error) : error;
			}
		},
		refusal: () => trx.isCommitted === true || trx.isRolledBack === true ? "it is over" : null
	};
};
/** A transaction of `execute` has no flags; Kysely says so itself. */
function isOver(error) {
	return /^Transaction is already (committed|rolled back)/.test(error?.message);
}
// packages/core/src/engines/postgres/transactions/prisma.ts
/** What `prisma.$transaction` gives its callback, over a driver adapter. The client itself is none. */
const recognisePrisma = (tx) => {
	const { $queryRawUnsafe, $connect } = tx;
	if (typeof $queryRawUnsafe !== "function" || $connect !== void 0) return null;
	return {
		async query(text, values) {
			try {
				return await tx.$queryRawUnsafe(text, ...values);
			} catch (error) {
				throw saidByServer(error) ?? error;
			}
		},
		refusal: () => null
	};
};
const over$1 = "P2028";
/** What the server said, which Prisma keeps deep inside, in the form that the driver gives it; null: the server said nothing. */
function saidByServer(error) {
	const { code, message, meta } = error ?? {};
	const said = meta?.driverAdapterError?.cause;
	if (typeof said?.originalCode === "string") {
		const { originalCode, originalMessage, hint, detail } = said;
		const plain = new Error(String(originalMessage ?? message), { cause: error });
		return Object.assign(plain, {
			code: originalCode,
			severity: "ERROR",
			hint,
			detail
		});
	}
	return code === over$1 ? overError(error) : null;
}
// packages/core/src/engines/postgres/transactions/recognise.ts
const kinds$1 = [
	recognisePg,
	recognisePostgresJs,
	recogniseKysely,
	recogniseKnex,
	recogniseDrizzle,
	recognisePrisma
];
/** The transaction that this stands for; null: none of a library that is known. */
function recogniseTransaction(tx) {
	if (typeof tx !== "object" && typeof tx !== "function" || tx === null) return null;
	for (const recognise of kinds$1) {
		const known = recognise(tx);
		if (known !== null) return known;
	}
	return null;
}
// packages/core/src/engines/postgres/plain-batch.ts
const noExtras = {
	isSame: () => true,
	written: () => ({})
};
/** Writes plain jobs as a batch. `extras` is given the places of two jobs. */
function plainBatch(jobs, extras = noExtras) {
	const differ = differingFields(jobs);
	const { kinds, kindOf } = findKinds(jobs, extras);
	const specs = kinds.map((i, n) => ({
		...sharedSpec(jobs[i], differ),
		...extras.written(i),
		n: n + 1
	}));
	const dueAt = ({ due }) => "at" in checkedDue(due) ? due.at : null;
	return {
		specs: JSON.stringify(specs),
		firsts: kinds.map((i) => jobs[i]),
		ids: jobs.map(({ id }) => id),
		inputs: jobs.map(({ input }) => input),
		kind: kinds.length > 1 ? kindOf : null,
		dues: differ.due ? jobs.map(dueAt) : null,
		rankOffsets: differ.rankOffset ? jobs.map(({ rankOffsetMs }) => rankOffsetMs) : null,
		tenants: differ.tenant ? jobs.map(({ tenant }) => tenant) : null,
		metadata: differ.metadata ? jobs.map(({ metadata }) => metadata) : null,
		slots: differ.slot ? slotsOf(jobs) : null
	};
}
function slotsOf(jobs) {
	return {
		scheduleIds: jobs.map(({ slot }) => slot?.scheduleId ?? null),
		slotAts: jobs.map(({ slot }) => slot?.slotAt ?? null),
		slots: jobs.map(({ slot }) => slot === null ? null : slotText(slot)),
		details: jobs.map(({ slot }) => slot?.details ?? null)
	};
}
function differingFields(jobs) {
	const [first] = jobs;
	const differ = {
		due: false,
		rankOffset: false,
		tenant: false,
		metadata: false,
		slot: false
	};
	if (first === void 0) return differ;
	for (const { due, rankOffsetMs, tenant, metadata, slot } of jobs) {
		differ.due ||= !isSameDue(due, first.due);
		differ.rankOffset ||= rankOffsetMs !== first.rankOffsetMs;
		differ.tenant ||= tenant !== first.tenant;
		differ.metadata ||= metadata !== first.metadata;
		differ.slot ||= slot !== first.slot;
	}
	return differ;
}
function isSameDue(a, b) {
	return "at" in a ? "at" in b && a.at === b.at : "inMs" in b && a.inMs === b.inMs;
}
/** The place of the first job of each kind, and the kind of each job, from 1. */
function findKinds(jobs, extras) {
	const kinds = [];
	const byText = /* @__PURE__ */ new Map();
	let last = 0;
	return {
		kinds,
		kindOf: jobs.map((job, i) => {
			const first = kinds[last - 1];
			if (first !== void 0 && isSameKind(jobs[first], job) && extras.isSame(first, i)) return last;
			const text = kindText(job, extras.written(i));
			last = byText.get(text) ?? kinds.push(i);
			byText.set(text, last);
			return last;
		})
	};
}
/** What jobs of one kind share, as text. */
function kindText(job, extra) {
	const delayMs = "at" in job.due ? null : job.due.inMs;
	return JSON.stringify([
		job.type,
		job.version,
		job.queue,
		job.priority,
		policyText(job.policy),
		job.origin,
		job.copyOf,
		...[
			delayMs,
			job.startDeadlineMs,
			job.slot?.allow === true,
			extra
		]
	]);
}
function isSameKind(job, other) {
	if (job.type !== other.type) return false;
	if (job.version !== other.version) return false;
	if (job.queue !== other.queue) return false;
	if (job.priority !== other.priority) return false;
	if (job.policy !== other.policy) return false;
	if (job.origin !== other.origin) return false;
	if (job.copyOf !== other.copyOf) return false;
	return ("at" in job.due ? "at" in other.due : isSameDue(job.due, other.due)) && job.startDeadlineMs === other.startDeadlineMs && job.slot?.allow === true === (other.slot?.allow === true);
}
/** What the jobs of a kind share, of the first of them. */
function sharedSpec(job, differ) {
	const { id: _id, input: _input, ...shared } = writtenSpec(job);
	if (differ.due) delete shared.at;
	if (differ.rankOffset) delete shared.rankOffsetMs;
	if (differ.tenant) delete shared.tenant;
	if (differ.metadata) delete shared.metadata;
	if (differ.slot) for (const field of [
		"scheduleId",
		"slot",
		"slotAt",
		"slotDetails"
	]) delete shared[field];
	return shared;
}
// packages/core/src/engines/postgres/verbs/enqueue.ts
/** See the contract. */
async function enqueue(work, input) {
	let claimed = [];
	return {
		...await eachGroup(input.groups, ({ jobs }) => {
			for (const { due } of jobs) checkedDue(due);
			return jobs;
		}, async (groups) => {
			const answer = await send$1(work, input, groups);
			claimed = "fences" in answer.claimed ? toRunningJobs(work, groups.flat(), answer.claimed, answer.now) : toClaimedJobs(work, answer.claimed);
			return {
				now: answer.now,
				groups: answer.groups
			};
		}),
		claimed
	};
}
/** Plain jobs of all groups are created together. If an id exists, or the store refuses to, all jobs are created one by one. */
async function send$1(work, input, groups) {
	const jobs = groups.flat();
	if (input.repeat !== true && jobs.length > 0 && jobs.every(isPlainWithoutSlot)) try {
		const answer = await createPlain(work, input, jobs);
		return {
			...answer,
			groups: groups.map((group) => plainReply(group, answer.now))
		};
	} catch (error) {
		const state = sqlStateBehind(error);
		if (state !== "23505" && state !== "DU009") throw error;
	}
	return await createGroups(work, input, groups);
}
/** A schedule's decision creates the jobs of its slots; nobody else needs them by columns. */
function isPlainWithoutSlot(job) {
	return job.slot === null && isPlain(job);
}
async function createPlain(work, { now, claim }, jobs) {
	const batch = plainBatch(jobs);
	for (const job of batch.firsts) work.scanHints?.noteLane(job);
	const answer = await call(work, now, batch, null, {
		claim: claim === void 0 ? null : work.scanHints?.sent(claim) ?? claim,
		repeat: false,
		created: batch.firsts
	});
	const { scan } = "fences" in answer.claimed ? answer.claimed : answer;
	if (claim !== void 0) work.scanHints?.update(claim, answer.now, scan);
	return answer;
}
function createGroups(work, { now, claim, repeat }, groups) {
	const written = groups.map((jobs) => jobs.map((spec) => specFor(work, spec)));
	const how = {
		claim: claim ?? null,
		repeat: repeat === true,
		created: groups.flat()
	};
	if (!groups.some((jobs) => jobs.some(({ dedupe }) => dedupe !== null)) || work.where === "user-transaction") return call(work, now, null, written, how);
	const values = [
		now ?? null,
		JSON.stringify(written),
		how.claim === null ? null : JSON.stringify(how.claim),
		how.repeat
	];
	return work.call(statements.call.enqueueKeyed, values, how.created);
}
function call(work, now, batch, groups, { claim, repeat, created }) {
	const values = [
		now ?? null,
		batch?.specs ?? null,
		batch && textArray(batch.ids),
		batch && textArray(batch.inputs),
		batch && writtenLists(batch),
		groups === null ? null : JSON.stringify(groups),
		claim === null ? null : JSON.stringify(claim),
		repeat
	];
	return work.call(statements.call.enqueue, values, created);
}
/** The lists beside ids and inputs; null: there are none. */
function writtenLists({ kind, dues, rankOffsets, tenants, metadata }) {
	const lists = {
		kind,
		dues,
		rankOffsets,
		tenants,
		metadata
	};
	return Object.values(lists).every((list) => list === null) ? null : JSON.stringify(lists);
}
/** Inside a user's transaction a job takes no serial place: it would be held until they commit. */
function specFor(work, spec) {
	const written = writtenSpec(spec);
	return work.where === "user-transaction" && spec.serial !== null ? {
		...written,
		unplaced: true
	} : written;
}
/** What became of plain jobs follows from their due time alone, so the store need not say it. */
function plainReply(jobs, now) {
	return {
		ok: true,
		items: jobs.map(({ id, due }) => {
			const dueAt = "at" in due ? due.at : now + due.inMs;
			return {
				id,
				status: dueAt <= now ? "PENDING" : "SCHEDULED",
				dueAt,
				deduped: false
			};
		})
	};
}
// packages/core/src/engines/shared/job-scan.ts
/** So many jobs of each table are looked at for one page: some ten milliseconds. */
const scanCountMax = 2e4;
/** Whether an index leads to all that is wanted, however far apart it lies. */
function isFoundByIndex({ ids, scheduleId, dead }) {
	return ids !== void 0 || scheduleId !== void 0 || dead === true;
}
/**
* The column by which jobs that are over are looked through; null: all of them are. The latest job of a tenant, or of a key, may lie behind
* millions of others. Those with a parent or a key are the fewest.
*/
function leadOf({ parentId, dedupeKey, tenant }) {
	if (parentId !== void 0) return {
		column: "parent_id",
		value: parentId
	};
	if (dedupeKey !== void 0) return {
		column: "dedupe_key",
		value: dedupeKey
	};
	return tenant === void 0 || tenant === null ? null : {
		column: "tenant",
		value: tenant
	};
}
/**
* Which of them the statuses of a filter name, among those of jobs that are over or of the others; null: also some of which there may be any
* number. A filter on the three that ran away among millions that completed would otherwise read all the millions.
*/
function fewOf(status, isOver) {
	if (status === void 0 || status.length === 0) return null;
	if (isOver) return status.includes("COMPLETED") ? null : "odd";
	if (status.every((one) => one === "RUNNING")) return "running";
	return status.every((one) => one === "BLOCKED") ? "blocked" : null;
}
// packages/core/src/engines/postgres/job-where.ts
/** Values of a statement that is put together, each by its place. */
var Bound = class {
	values = [];
	#placeOf;
	/** `placeOf`: how the text says where the n-th value is, from 1. */
	constructor(placeOf = (number) => `$${number}`) {
		this.#placeOf = placeOf;
	}
	/** Binds a value and answers its place in the text. */
	add(value) {
		this.values.push(value);
		return this.#placeOf(this.values.length);
	}
	/** Binds a list of values as an array of texts. */
	list(values) {
		return `ARRAY(SELECT jsonb_array_elements_text(${this.add(JSON.stringify(values))}::jsonb))`;
	}
};
/**
* A filter as a condition on one of the three places a job can be; null: nothing there can match. SQL is put together here because a
* filter has more shapes than files could hold. Values are always bound, never written into the text. `now` is the place of the instant.
*/
function jobWhere(filter, table, now, bound) {
	const parts = [];
	const addIn = (column, list) => {
		if (list !== void 0) parts.push(`${column} = ANY (${bound.list(list)})`);
	};
	const addText = (column, value) => {
		if (value !== void 0) parts.push(`${column} = ${bound.add(value)}::text`);
	};
	const addBound = (column, sign, value) => {
		if (value !== void 0) parts.push(`${column} ${sign} ${bound.add(value)}::bigint`);
	};
	const status = filter.status?.filter((one) => isTerminal(one) === (table !== "live"));
	if (status?.length === 0) return null;
	if (filter.dead !== void 0 && filter.dead !== (table === "dead")) return null;
	const statusColumn = table === "live" ? `CASE WHEN status = 'SCHEDULED' AND due_at <= ${now} THEN 'PENDING' ELSE status END` : "status";
	addIn("id", filter.ids);
	addIn(statusColumn, status);
	addIn("type", filter.type);
	addIn("queue", filter.queue);
	if (filter.tenant === null) parts.push("tenant IS NULL");
	else addText("tenant", filter.tenant);
	addText("schedule_id", filter.scheduleId);
	addText("dedupe_key", filter.dedupeKey);
	addText("serial", filter.serial);
	addText("parent_id", filter.parentId);
	addBound("slot_at", ">=", filter.slotFrom);
	addBound("slot_at", "<", filter.slotBefore);
	if (filter.origin === "backfill") parts.push("origin = 'backfill'");
	else addText("origin", filter.origin);
	addBound("created_at", ">=", filter.createdFrom);
	addBound("created_at", "<", filter.createdBefore);
	addBound("created_at", "<=", filter.asOf);
	if (table !== "live") addBound("finished_at", "<=", filter.asOf);
	if (filter.error !== void 0) parts.push(errorHas(bound.add(filter.error)));
	for (const text of filter.text ?? []) {
		const place = bound.add(text);
		const either = [
			`strpos(lower(type COLLATE "C"), lower(${place}::text COLLATE "C")) > 0`,
			`strpos(lower(tenant COLLATE "C"), lower(${place}::text COLLATE "C")) > 0`,
			errorHas(place)
		];
		const asked = text.toUpperCase();
		if (jobStatuses.includes(asked) && isTerminal(asked) === (table !== "live")) either.push(`${statusColumn} = ${bound.add(asked)}::text`);
		parts.push(`(${either.join(" OR ")})`);
	}
	for (const { path, value } of filter.input ?? []) parts.push(`${ofSet("has_value")}(input, ${bound.list(path.split("."))}, ${bound.add(value)}::text)`);
	return parts.length === 0 ? "TRUE" : parts.join(" AND ");
}
/** Most jobs have no error, and reading one costs a call of plpgsql. */
function errorHas(place) {
	return `(error IS NOT NULL AND strpos(${ofSet("error_text")}(error), lower(${place}::text COLLATE "C")) > 0)`;
}
// packages/core/src/engines/postgres/verbs/list.ts
/** See the contract. */
async function get(work, input) {
	const rows = await work.rows(statements.job.get, [input.now ?? null, JSON.stringify(input.ids)]);
	const [{ now, pruned }] = rows;
	const found = /* @__PURE__ */ new Map();
	for (const row of rows) if (row.id !== null && !found.has(row.id)) found.set(row.id, row);
	return {
		now,
		jobs: input.ids.map((id) => {
			const row = found.get(id);
			return row === void 0 ? null : toJobRecord(row, now);
		}),
		prunedCreatedAt: pruned
	};
}
/** See the contract. */
async function holder(work, { now: stamp, type, tenant, key }) {
	const [row] = await work.rows(statements.job.holder, [
		stamp ?? null,
		type,
		tenant,
		key
	]);
	const { now, pruned } = row;
	return {
		now,
		jobs: [row.id === null ? null : toJobRecord(row, now)],
		prunedCreatedAt: pruned
	};
}
/** See the contract. */
async function list(work, input) {
	if (input.statesOnly === true) {
		const { now, rows, nextCursor } = await pageOf(work, "states", input);
		return {
			now,
			jobs: [],
			states: rows.map(({ id, fence, updated_at, dead, ...row }) => ({
				id,
				fence,
				status: statusAt(row, now),
				updatedAt: updated_at,
				dead
			})),
			nextCursor
		};
	}
	const { now, rows, nextCursor } = await pageOf(work, "all", input);
	return {
		now,
		jobs: rows.map((row) => toJobRecord(row, now)),
		nextCursor
	};
}
const stateColumns = "v.id, v.status, v.due_at, v.fence, v.updated_at, v.dead";
const tables = {
	live: ofSet("live"),
	dead: "duly.dead",
	finished: "duly.finished"
};
async function pageOf(work, columns, { now: stamp, filter, cursor, limit }) {
	const few = await fewTables(work, filter);
	const before = cursor === null ? null : readCursor(cursor);
	const bound = new Bound();
	const now = `${ofSet("now")}(${bound.add(stamp ?? null)}::bigint)`;
	const inner = new Bound((place) => `($1)[${place}]`);
	const innerNow = `${ofSet("now")}(${inner.add(stamp ?? null)}::bigint)`;
	const parts = [];
	const ends = [];
	const isBounded = !isFoundByIndex(filter);
	const until = isBounded ? "AND id >= $2" : "";
	const lead = leadOf(filter);
	for (const table of [
		"live",
		"dead",
		"finished"
	]) {
		const where = jobWhere(filter, table, innerNow, inner);
		if (where === null) continue;
		const below = (values) => before === null ? "" : `AND id < ${values.add(before)}::text`;
		if (isBounded && !few.has(table)) {
			const led = lead === null || table === "live" ? "true" : `${lead.column} = ${bound.add(lead.value)}::text`;
			ends.push(`(SELECT id FROM ${tables[table]} WHERE ${led} ${below(bound)} ORDER BY id DESC LIMIT 1 OFFSET ${scanCountMax})`);
		}
		const from = `${below(inner)} ${until}`;
		const order = `ORDER BY id DESC LIMIT ${inner.add(limit + 1)}::bigint`;
		const matches = few.has(table) ? `(SELECT * FROM ${tables[table]} WHERE ${fewCondition(filter, table)} AND ${where} OFFSET 0) few WHERE true ${from}` : `${tables[table]} WHERE ${where} ${from}`;
		parts.push(columns === "states" && table !== "live" ? `(SELECT id, status, due_at, fence, updated_at, ${table === "dead"} AS dead FROM ${matches} ${order})` : `(SELECT ${columns === "states" ? stateColumns : "v.*"} FROM (SELECT id, seq FROM ${matches} ${order}) p
            JOIN ${ofSet(table === "live" ? "live" : "over")} v ON v.id = p.id AND v.seq = p.seq)`);
	}
	const found = parts.length === 0 ? "(SELECT NULL::text AS id WHERE false)" : `${ofSet(columns === "states" ? "selected_states" : "selected")}($select$${parts.join(" UNION ALL ")}$select$, ${bound.list(inner.values)}, floor.id)`;
	const floor = ends.length > 0 ? `coalesce(greatest(${ends.join(", ")}), '')` : `''`;
	const rows = await work.rowsOnce(`WITH floor AS MATERIALIZED (SELECT ${floor} AS id)
     SELECT ${now} AS now, floor.id AS floor, j.* FROM floor LEFT JOIN LATERAL ${found} j ON true`, bound.values);
	const end = rows[0].floor;
	const at = rows[0].now;
	const sorted = rows.filter(({ id }) => id !== null).sort((a, b) => a.id < b.id ? 1 : -1);
	const page = sorted.slice(0, limit);
	const last = page.at(-1);
	const after = sorted.length > limit && last !== void 0 ? last.id : end;
	return {
		now: at,
		rows: page,
		nextCursor: after === "" ? null : `after:${after}`
	};
}
/** What an index or a small table holds by itself, of which the filter names no others; null: it names others. */
function fewCondition({ status }, table) {
	const isOver = table !== "live";
	const kind = fewOf(status?.filter((one) => isTerminal(one) === isOver), isOver);
	if (kind === null || table === "dead") return null;
	if (kind === "running") return "id = ANY (ARRAY(SELECT id FROM duly.leases))";
	return kind === "blocked" ? "status = 'BLOCKED'" : "status <> 'COMPLETED'";
}
/** The tables of which an index holds all that can match, and no more than is read from here and there for one page. */
async function fewTables(work, filter) {
	const few = /* @__PURE__ */ new Set();
	if (isFoundByIndex(filter)) return few;
	for (const table of ["live", "finished"]) {
		const condition = fewCondition(filter, table);
		if (condition === null) continue;
		const [row] = await work.rowsOnce(`SELECT count(*)::int AS count FROM (SELECT 1 FROM ${table === "live" ? "duly.jobs" : tables[table]} WHERE ${condition} LIMIT 5001) one`, []);
		if ((row?.count ?? 0) <= 5e3) few.add(table);
	}
	return few;
}
function readCursor(cursor) {
	if (cursor.startsWith("after:")) return cursor.slice(6);
	throw dulyError("invalid_cursor", {
		message: `Expected a cursor that this list gave, got "${cursor.slice(0, 60)}".`,
		hint: "Leave the cursor out to begin from the newest."
	});
}
/** See the contract. */
async function counts(work, input) {
	const { cap } = input;
	const [{ now }] = await work.rows(statements.job.now, [input.now ?? null]);
	const status = Object.fromEntries(jobStatuses.map((one) => [one, {
		count: 0,
		capped: false
	}]));
	const scans = await work.rows(statements.counts.status, [now, cap]);
	for (const row of scans) {
		const entry = status[row.status];
		entry.count += row.count;
		entry.capped ||= row.scanned >= cap;
	}
	const lanes = await work.rows(statements.counts.lanes, [cap]);
	const running = await work.rows(statements.counts.byNode, [cap]);
	return {
		now,
		status,
		lanes: lanes.map(({ queue, type, version, ready, oldest, scanned }) => ({
			queue,
			type,
			version,
			ready: {
				count: ready,
				capped: scanned >= cap
			},
			oldestDueAt: oldest
		})),
		running: running.map(({ node, type, count }) => ({
			node,
			type,
			count
		}))
	};
}
/** See the contract. */
async function changes(work, { now: stamp, after, limit }) {
	const reply = await work.call(statements.call.changes, [
		stamp ?? null,
		after,
		limit
	]);
	const { now, end, gap } = reply;
	if (after === null || gap) return {
		now,
		changes: [],
		position: end,
		gap
	};
	const found = [];
	for (const [first, at, entries] of reply.rows) {
		const [ids, types, statuses, event, percents] = entries;
		for (const [place, id] of ids.entries()) {
			const position = first + place;
			if (position <= after || found.length === limit) continue;
			found.push({
				position,
				at,
				id,
				event,
				type: oneOf(types, place),
				status: oneOf(statuses, place),
				percent: oneOf(percents, place)
			});
		}
	}
	return {
		now,
		changes: found,
		position: found.at(-1)?.position ?? after,
		gap: false
	};
}
/** What is the same for all changes of a row stands there once. */
function oneOf(column, place) {
	return Array.isArray(column) ? column[place] : column;
}
/** See the contract. */
async function audit(work, input) {
	const values = [
		input.now ?? null,
		input.before ?? Number.MAX_SAFE_INTEGER,
		input.limit
	];
	const rows = input.subject === null ? await work.rows(statements.audit.list, values) : await work.rows(statements.audit.listSubject, [...values, input.subject]);
	const { now } = rows[0];
	return {
		now,
		rows: rows.filter(({ position }) => position !== null).map(({ position, at, actor, action, subject, before, after, note }) => ({
			position,
			at,
			actor,
			action,
			subject,
			note,
			before: compact(before),
			after: compact(after)
		}))
	};
}
/** JSON that PostgreSQL wrote has spaces of its own. */
function compact(text) {
	return text === null ? null : JSON.stringify(JSON.parse(text));
}
// packages/core/src/engines/shared/schedule-row.ts
/** A row as the contract has it. */
function toScheduleRecord(row) {
	return {
		id: row.id,
		app: row.app,
		tenant: row.tenant,
		name: row.name,
		generation: row.generation,
		version: row.version,
		spec: row.spec,
		state: row.state,
		dueAt: row.due_at,
		waitsFor: row.waits_for,
		createdAt: row.created_at,
		updatedAt: row.updated_at
	};
}
// packages/core/src/engines/postgres/verbs/schedules.ts
/** See the contract. */
function applySchedules(work, input) {
	return eachGroup(input.groups, ({ actor, changes }) => ({
		actor,
		changes: changes.map((change) => ({
			...change,
			note: keepable(change.note ?? null),
			...change.op === "put" && { jobs: change.jobs.map(writtenSpec) }
		}))
	}), (groups) => work.call(statements.call.applySchedules, [input.now ?? null, JSON.stringify(groups)]));
}
/** See the contract. */
async function claimSchedules(work, input) {
	const answer = await work.call(statements.call.claimSchedules, [
		input.now ?? null,
		input.node,
		input.token,
		input.limit,
		input.leaseMs,
		input.ids === null ? null : JSON.stringify(input.ids)
	]);
	const { now, nextDueAt, more } = answer;
	return {
		now,
		schedules: toClaimedSchedules(answer),
		nextDueAt,
		more
	};
}
function toClaimedSchedules({ fence, columns, runs, counts, waited, texts }) {
	if (columns === null) return [];
	const [ids, apps, tenants, names, generations, versions, dueAts, waitsFors, createdAts, updatedAts] = columns;
	const schedules = ids.map((id, i) => ({
		id,
		app: apps?.[i] ?? null,
		tenant: tenants?.[i] ?? null,
		name: names[i],
		generation: generations[i],
		version: versions[i],
		spec: texts[i],
		state: texts[ids.length + i],
		dueAt: dueAts[i],
		waitsFor: waitsFors?.[i] ?? null,
		createdAt: createdAts[i],
		updatedAt: updatedAts[i],
		fence,
		active: noRuns,
		activeCount: 0,
		waited: null
	}));
	const at = (place) => schedules[place];
	for (const [place, id, status, slotAt, origin, dueAt, cancelRequestedAt] of runs ?? []) {
		const one = at(place);
		one.active = [...one.active, {
			id,
			status,
			slotAt,
			origin,
			dueAt,
			cancelRequestedAt
		}];
		one.activeCount = one.active.length;
	}
	for (const [place, count] of counts ?? []) at(place).activeCount = count;
	for (const [place, id, status, finishedAt] of waited ?? []) at(place).waited = {
		id,
		status,
		finishedAt
	};
	return schedules;
}
const noRuns = [];
/** See the contract. */
async function schedules(work, input) {
	const { filter, cursor, limit, order = "name" } = input;
	const bound = new Bound();
	const now = `${ofSet("now")}(${bound.add(input.now ?? null)}::bigint)`;
	const parts = [];
	const addText = (column, value) => {
		if (value === null) parts.push(`${column} IS NULL`);
		else if (value !== void 0) parts.push(`${column} = ${bound.add(value)}::text`);
	};
	if (filter.ids !== void 0) parts.push(`p.id = ANY (${bound.list(filter.ids)})`);
	addText("p.app", filter.app);
	addText("p.tenant", filter.tenant);
	addText("p.name", filter.name);
	if (order === "due") parts.push("c.due_at IS NOT NULL");
	else if (cursor !== null) {
		const [name, id] = JSON.parse(cursor);
		parts.push(`(p.name, p.id) > (${bound.add(name)}::text, ${bound.add(id)}::text)`);
	}
	const where = parts.length === 0 ? "TRUE" : parts.join(" AND ");
	const rows = await work.rowsOnce(`SELECT ${now} AS at, s.* FROM (SELECT 1) one LEFT JOIN LATERAL (
       SELECT p.id, p.app, p.tenant, p.name, c.generation, c.version, p.spec, c.state, c.due_at, c.waits_for, p.created_at, c.updated_at
       FROM duly.specs p JOIN duly.schedules c ON c.id = p.id
       WHERE ${where} ORDER BY ${order === "due" ? "c.due_at" : "p.name"}, p.id LIMIT ${bound.add(limit + 1)}::bigint) s ON true
     ORDER BY ${order === "due" ? "s.due_at" : "s.name"}, s.id`, bound.values);
	const found = rows.filter(({ id }) => id !== null);
	const page = found.slice(0, limit);
	const last = page.at(-1);
	const nextCursor = order === "name" && found.length > limit && last !== void 0 ? JSON.stringify([last.name, last.id]) : null;
	return {
		now: rows[0].at,
		schedules: page.map(toScheduleRecord),
		nextCursor
	};
}
/** See the contract. */
async function slots(work, input) {
	const { scheduleId, fromAt, beforeAt, limit } = input;
	const rows = await work.rows(statements.schedule.slots, [
		input.now ?? null,
		scheduleId,
		fromAt,
		beforeAt,
		limit
	]);
	const compactedRows = await work.rows(statements.schedule.compactedRows, [
		scheduleId,
		fromAt,
		beforeAt,
		limit
	]);
	return {
		now: rows[0].now,
		slots: rows.filter(({ generation }) => generation !== null).map((row) => ({
			generation: row.generation,
			fromAt: row.from_at,
			toAt: row.to_at,
			count: row.count,
			decision: row.decision,
			reason: row.reason,
			node: row.node,
			jobId: row.job_id,
			decidedAt: row.decided_at,
			...row.last_decided_at === row.decided_at ? {} : { lastDecidedAt: row.last_decided_at }
		})),
		compacted: compactedRows.map(({ generation, startAt, fromAt: from, toAt, counts }) => ({
			generation,
			startAt,
			fromAt: from,
			toAt,
			counts: JSON.parse(counts).map(([decision, count, exact]) => ({
				decision,
				count,
				exact: exact === 1
			}))
		}))
	};
}
// packages/core/src/engines/postgres/user-transaction.ts
const kinds = "Give a connected client of \"pg\" after BEGIN, or what postgres.js, Drizzle, Kysely, Knex or Prisma gives the callback of a transaction.";
/** The store inside a transaction of the user's own. Needs no connection but theirs, so it works in whichever thread they are. */
function createPostgresUserTransaction(tx, options) {
	const { schema, place, watchTransaction } = options;
	const transaction = recogniseTransaction(tx);
	if (transaction === null) throw unknownTx(place, kinds);
	const database = new TransactionDatabase(transaction, options);
	const notify = (notifications) => {
		const { xid } = database;
		if (transaction.onEnd === void 0 || xid === null) {
			watchTransaction({
				transaction: xid,
				notifications
			});
			return;
		}
		transaction.onEnd(`${place} ${JSON.stringify(notifications)}`, (end) => {
			if (end !== "rolled-back") watchTransaction({
				transaction: end === "committed" ? null : xid,
				notifications
			});
		});
	};
	const work = new Work(database, schema, notify, { where: "user-transaction" });
	return {
		enqueue: (input) => enqueue(work, input),
		applySchedules: (input) => applySchedules(work, input),
		schedules: (input) => schedules(work, input),
		get: (input) => get(work, input),
		list: (input) => list(work, input),
		settle: (input) => settleInTransaction(work, input)
	};
}
/** What the verbs need, on the user's connection. Rows come as one JSON text: libraries differ in what they make of numbers. */
var TransactionDatabase = class {
	/** The server's number for the transaction, once something was written in it. */
	xid = null;
	#transaction;
	#options;
	constructor(transaction, options) {
		this.#transaction = transaction;
		this.#options = options;
	}
	async query(text, values = []) {
		const { schema, place, id } = this.#options;
		await this.#refuseClosed();
		const wrapped = `SELECT CASE WHEN EXISTS (SELECT FROM "${schema}".meta WHERE key = 'store' AND value = $${values.length + 1}::text::bigint)
      THEN (SELECT ' ' || coalesce(json_agg(q), '[]')::text FROM (${asTexts(text)}) q) END AS rows, pg_current_xact_id_if_assigned()::text AS xid`;
		const rows = await this.#ask(wrapped, [...values.map(textOrNull), String(id)]);
		if (rows[0] === void 0) throw dulyError("internal", { message: "A statement with one row answered none." });
		const [json, xid] = Object.values(rows[0]);
		if (json === null) throw otherStore(place);
		this.xid = xid;
		return JSON.parse(json);
	}
	transaction(fn) {
		return fn(this, async () => {});
	}
	/** On a connection without a transaction a call would be one of its own, and be kept whatever its caller does. */
	async #refuseClosed() {
		const { schema, place } = this.#options;
		const refusal = this.#transaction.refusal();
		if (refusal === unknownStatus) await this.#ask(`LOCK TABLE "${schema}".meta IN ACCESS SHARE MODE`, []);
		else if (refusal !== null) throw notOpen(place, refusal);
	}
	async #ask(text, values) {
		try {
			return await this.#transaction.query(text, values);
		} catch (error) {
			throw txError(error, this.#options.place);
		}
	}
};
/** Every value goes as a text: libraries differ in what they make of the types they know, and one would write JSON a second time. */
function asTexts(text) {
	return text.replaceAll(/(\$\d+)::(\w+)/g, "$1::text::$2");
}
function textOrNull(value) {
	return value === null ? null : String(value);
}
const missing = /* @__PURE__ */ new Set([
	"3F000",
	"42P01",
	"42883"
]);
/** What the user's library threw, as an error of Duly. Libraries wrap what the server said. */
function txError(error, place) {
	let said = error;
	for (let depth = 0; depth < 5 && sqlStateOf(said) === null; depth++) said = said?.cause;
	const state = sqlStateOf(said);
	if (state !== null && missing.has(state)) return otherStore(place, error);
	if (state === "25P01") return notOpen(place, "it is over, or was never begun", error);
	if (state === "25P02") return notOpen(place, "it has failed and can only be rolled back", error);
	if (state === "25006") return notOpen(place, "it takes no writes (READ ONLY, or a standby)", error);
	return storeError(state === null ? error : said, {
		place,
		unknown: false
	});
}
// packages/core/src/engines/postgres/vacuum.ts
const writesMin = 1e4;
const deadRowsMin = 1e4;
const pauseMs = 1e3;
const longRunMs = 2e3;
const pausePerLongRun = 4;
const pauseAfterErrorMs = 6e4;
const dueTables = `SELECT s.relid::regclass::text AS name FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid
  WHERE s.schemaname = $1 AND s.relname IN ('${[
	"jobs",
	"leases",
	"schedules",
	"schedule_leases",
	"dedupes",
	"gates",
	"places",
	"journal"
].join("', '")}') AND s.n_dead_tup >= ${deadRowsMin}
    AND coalesce(s.last_vacuum < now() - interval '${pauseMs} ms', true) AND pg_has_role(c.relowner, 'USAGE')`;
/** Creates the vacuum of a store. See docs/decisions/0017-plans-and-dead-rows-on-postgres.md. */
function createVacuum({ database, schema, clock }) {
	let writeCount = 0;
	let nextElapsed = 0;
	let isRunning = false;
	let isClosed = false;
	async function run() {
		const startedElapsed = clock.elapsed();
		try {
			for (const { name } of await database.query(dueTables, [schema])) if (!isClosed) await database.query(`VACUUM (SKIP_LOCKED, TRUNCATE OFF, PARALLEL 0) ${name}`);
			const tookMs = clock.elapsed() - startedElapsed;
			nextElapsed = clock.elapsed() + (tookMs <= longRunMs ? pauseMs : pausePerLongRun * tookMs);
		} catch {
			nextElapsed = clock.elapsed() + pauseAfterErrorMs;
		}
	}
	return {
		noteWrites(count) {
			writeCount += count;
			if (writeCount < writesMin || isRunning || isClosed || clock.elapsed() < nextElapsed) return;
			writeCount = 0;
			isRunning = true;
			run().finally(() => {
				isRunning = false;
			});
		},
		close() {
			isClosed = true;
		}
	};
}
// packages/core/src/engines/shared/check-action.ts
/** Refuses the group of an action that this release does not know. */
function checkAction(action) {
	if (jobActions.includes(action)) return;
	throw dulyError("group_refused", { message: `Expected one of ${jobActions.join(", ")} as action, got "${action}".` });
}
// packages/core/src/engines/postgres/verbs/act.ts
/** See the contract. */
function cancel(work, input) {
	return eachGroup(input.groups, (group) => ({
		...group,
		note: keepable(group.note)
	}), (groups) => work.call(statements.call.cancel, [input.now ?? null, JSON.stringify(groups)]));
}
/** See the contract. */
function reschedule(work, input) {
	return eachGroup(input.groups, (group) => ({
		...group,
		due: checkedDue(group.due)
	}), (groups) => work.call(statements.call.reschedule, [input.now ?? null, JSON.stringify(groups)]));
}
/** See the contract. */
function retry(work, input) {
	return eachGroup(input.groups, (group) => ({
		...group,
		note: keepable(group.note)
	}), (groups) => work.call(statements.call.retry, [input.now ?? null, JSON.stringify(groups)]));
}
/** See the contract. */
function act(work, input) {
	return eachGroup(input.groups, (group) => {
		checkAction(group.action);
		return {
			...group,
			note: keepable(group.note)
		};
	}, (groups) => work.call(statements.call.act, [input.now ?? null, JSON.stringify(groups)]));
}
// packages/core/src/engines/postgres/verbs/fire.ts
/** See the contract. */
async function fire(work, input) {
	const plain = plainDecisions(input);
	if (plain.length < togetherMin) return send(work, input, []);
	try {
		return await send(work, input, plain);
	} catch (error) {
		const state = sqlStateBehind(error);
		if (state !== "DU009" && state !== "23505") throw error;
		return send(work, input, []);
	}
}
/** So few are written one by one, in their order. */
const togetherMin = 4;
/** The decisions that can be written together: those of one claim, each schedule once. */
function plainDecisions({ groups }) {
	const fence = groups[0]?.fence;
	const seen = /* @__PURE__ */ new Set();
	const plain = [];
	for (const group of groups) {
		if (seen.has(group.scheduleId)) return [];
		seen.add(group.scheduleId);
		const { jobs, slots, cancel, slotDetails, waitsFor } = group;
		const [[job], [slot]] = [jobs, slots];
		if (job === void 0 || slot === void 0 || jobs.length > 1 || slots.length > 1) continue;
		const isSole = group.fence === fence && cancel.length === 0 && (slotDetails === void 0 || slotDetails.length === 0) && (waitsFor === null || waitsFor === job.id) && isPlain(job) && "at" in job.due && job.slot?.scheduleId === group.scheduleId && job.slot.slotAt === slot.fromAt;
		const isOneSlot = slot.jobId === job.id && slot.toAt === slot.fromAt && slot.count === 1;
		if (isSole && isOneSlot) plain.push({
			group,
			job,
			slot
		});
	}
	return plain;
}
async function send(work, input, plain) {
	const { groups, claim } = input;
	const isSent = new Set(plain.map(({ group }) => group));
	const others = groups.map((group, i) => ({
		group,
		i
	})).filter(({ group }) => !isSent.has(group));
	const isAllPlain = groups.every(({ jobs, cancel }) => cancel.length === 0 && jobs.every(isPlain));
	const jobs = groups.flatMap((group) => group.jobs);
	const created = claim !== void 0 && isAllPlain ? jobs : null;
	const values = [
		input.now ?? null,
		input.node,
		...writtenDecisions(plain),
		JSON.stringify(others.map(({ group }) => ({
			...group,
			jobs: group.jobs.map(writtenSpec)
		}))),
		numberArray([...new Set(groups.map(({ fence }) => fence))]),
		claim === void 0 ? null : JSON.stringify(claim),
		created === null ? null : textArray(created.map(({ id }) => id))
	];
	const reply = await work.call(statements.call.fire, values, jobs);
	const outcomes = groups.map(() => "fired");
	for (const [n, { i }] of others.entries()) outcomes[i] = reply.groups[n];
	const { now, claimed } = reply;
	return {
		now,
		groups: outcomes,
		claimed: "fences" in claimed ? toRunningJobs(work, plain.map(({ job }) => job), claimed, now) : toClaimedJobs(work, claimed)
	};
}
/** The parameters of `fire` that are lists in the order of the decisions, and what the decisions share. */
function writtenDecisions(plain) {
	const [first] = plain;
	if (first === void 0) return new Array(16).fill(null);
	const at = (i) => plain[i];
	const batch = plainBatch(plain.map(({ job }) => job), {
		isSame: (i, other) => isSameLedger(at(i), at(other)),
		written: (i) => writtenLedger(at(i))
	});
	return [
		first.group.fence,
		textArray(plain.map(({ group }) => group.scheduleId)),
		numberArray(plain.map(({ group }) => group.version)),
		textArray(plain.map(({ group }) => group.state)),
		numberArray(plain.map(({ group }) => group.dueAt)),
		batch.specs,
		batch.kind && numberArray(batch.kind),
		textArray(batch.ids),
		textArray(batch.inputs),
		batch.dues && numberArray(batch.dues),
		batch.rankOffsets && numberArray(batch.rankOffsets),
		batch.tenants && textArray(batch.tenants),
		batch.metadata && textArray(batch.metadata),
		numberArray(plain.map(({ slot }) => slot.fromAt)),
		batch.slots && textArray(batch.slots.slots),
		batch.slots && textArray(batch.slots.details)
	];
}
/** What the rows of the ledger, and the schedules, of one kind share. */
function writtenLedger({ group, slot: { decision, reason, node } }) {
	return {
		waits: group.waitsFor !== null,
		decision,
		reason,
		node
	};
}
function isSameLedger({ group, slot }, other) {
	return group.waitsFor === null === (other.group.waitsFor === null) && slot.decision === other.slot.decision && slot.reason === other.slot.reason && slot.node === other.slot.node;
}
// packages/core/src/engines/postgres/verbs/lease.ts
/** See the contract. A lease holds until someone takes it over, so a late heartbeat that nobody forestalled still renews it. */
async function heartbeat(work, input) {
	const { now, leases } = await work.call(statements.call.heartbeat, [
		input.now ?? null,
		input.leaseMs,
		JSON.stringify(input.leases)
	]);
	return {
		now,
		leases: leases.map((one) => {
			if (one === null) return { state: "lost" };
			return one === 0 ? { state: "kept" } : {
				state: "cancel",
				requestedAt: one
			};
		})
	};
}
/** See the contract. */
async function reap(work, input) {
	const { now, jobs, expired, promoted, more, nextAt } = await work.call(statements.call.reap, [
		input.now ?? null,
		input.leaseMs,
		input.limit,
		input.endedBy ?? null
	]);
	return {
		now,
		jobs: toClaimedJobs(work, jobs),
		expired,
		promoted,
		more,
		nextAt
	};
}
// packages/core/src/engines/shared/prefix-end.ts
/**
* The least text behind all that begin with `prefix`, by code points, which is how the stores order names: so a prefix is a range of an
* index. null: nothing is behind them.
*/
function prefixEnd(prefix) {
	const points = Array.from(prefix, (one) => one.codePointAt(0));
	for (let last = points.pop(); last !== void 0; last = points.pop()) {
		if (last === 1114111) continue;
		const next = last + 1 === 55296 ? 57344 : last + 1;
		return String.fromCodePoint(...points, next);
	}
	return null;
}
// packages/core/src/engines/postgres/verbs/locks.ts
/** See the contract. */
async function acquire(work, input) {
	const { now, acquired, fence, untilAt, holder } = await work.call(statements.call.acquire, [
		input.now ?? null,
		input.name,
		input.token,
		JSON.stringify(input.holder),
		input.ttlMs
	]);
	if (acquired) return {
		now,
		acquired,
		fence,
		untilAt
	};
	return {
		now,
		acquired,
		holder: JSON.parse(holder),
		fence,
		untilAt
	};
}
/** See the contract. A lock holds until someone else takes it, so a late renewal that nobody forestalled still counts. */
function renew(work, input) {
	return keep(work, input, input.ttlMs);
}
/** See the contract. */
function release(work, input) {
	return keep(work, input, null);
}
async function keep(work, input, ttlMs) {
	const { now, kept } = await work.call(statements.call.keepLocks, [
		input.now ?? null,
		JSON.stringify(input.locks),
		ttlMs
	]);
	return {
		now,
		locks: kept.map((isKept) => isKept ? "kept" : "lost")
	};
}
/** See the contract. */
async function heldLocks(work, { now, prefix, after, limit }) {
	const rows = await work.rows(statements.lock.held, [
		now ?? null,
		prefix,
		prefixEnd(prefix),
		after ?? "",
		limit
	]);
	return {
		now: rows[0].now,
		locks: rows.flatMap(({ name, fence, holder, until_at: untilAt }) => name === null ? [] : [{
			name,
			fence,
			holder: JSON.parse(holder),
			untilAt
		}])
	};
}
// packages/core/src/engines/postgres/verbs/nodes.ts
/** See the contract. */
async function nodes(work, { now: stamp, heartbeat, leave, drain, forgetAfterMs }) {
	const reply = await work.call(statements.call.nodes, [
		stamp ?? null,
		heartbeat?.id ?? null,
		heartbeat === null ? null : JSON.stringify(heartbeat),
		leave,
		drain?.id ?? null,
		drain?.actor ?? null,
		forgetAfterMs
	]);
	return {
		now: reply.now,
		nodes: reply.nodes.map(({ info, ...times }) => ({
			...JSON.parse(info),
			...times
		}))
	};
}
// packages/core/src/engines/postgres/verbs/prune.ts
/**
* See the contract. Whole days of history are made ahead and dropped only by the server's own clock: where the caller sets the time, the
* days are not those of a calendar, and jobs are forgotten one by one.
*/
async function prune(work, input) {
	const days = input.now === void 0 ? await keepDays(work, null, input.limit) : {
		jobs: 0,
		more: false
	};
	const { now, jobs, keys, values, rows, more } = await work.call(statements.call.prune, [
		input.now ?? null,
		input.limit,
		input.ledgerMs,
		JSON.stringify(input.compactStarts ?? []),
		input.auditMs,
		input.changesMs
	]);
	return {
		now,
		jobs: days.jobs + jobs,
		keys,
		values,
		rows,
		more: days.more || more
	};
}
/**
* Makes the coming days of history and drops those that are over; answers how many jobs were forgotten. A role that may not do that forgets
* `limit` jobs of such days, and `more` says that there may be others.
*/
function keepDays(work, now, limit = 500) {
	return work.call(statements.call.keepDays, [
		now,
		9,
		limit
	]);
}
// packages/core/src/engines/postgres/verbs/records.ts
/** See the contract. */
function records(work, input) {
	return eachGroup(input.groups, (group) => group, (groups) => work.call(statements.call.records, [input.now ?? null, JSON.stringify(groups)]));
}
// packages/core/src/engines/shared/trend.ts
/** Each step is counted, and where it must be sampled, in so many equal parts. */
const partCount = 4;
/** Counting a part stops here: some milliseconds. */
const partCountMax = 25e4;
/** The parts of all steps, in order. */
function trendParts({ fromAt, stepMs, stepCount }) {
	const parts = [];
	for (let step = 0; step < stepCount; step++) {
		const startAt = fromAt + step * stepMs;
		for (let n = 0; n < partCount; n++) parts.push({
			step,
			fromAt: startAt + Math.floor(n * stepMs / partCount),
			beforeAt: startAt + Math.floor((n + 1) * stepMs / partCount)
		});
	}
	return parts;
}
/** What to look at, by how many ended in each part: all of a small step; of a large one as much of each part as is its share. */
function trendLooks(parts, counts, { fromAt, stepMs, stepCount, sampleCount }) {
	const endedCounts = Array.from({ length: stepCount }, () => 0);
	for (const [n, { step }] of parts.entries()) endedCounts[step] = (endedCounts[step] ?? 0) + counts[n];
	const looks = [];
	for (const [n, part] of parts.entries()) {
		const ended = endedCounts[part.step];
		if (ended > sampleCount) {
			const limit = Math.round(counts[n] / ended * sampleCount);
			if (limit > 0) looks.push({
				...part,
				limit
			});
		} else if (ended > 0 && n % partCount === 0) {
			const startAt = fromAt + part.step * stepMs;
			looks.push({
				step: part.step,
				fromAt: startAt,
				beforeAt: startAt + stepMs,
				limit: sampleCount
			});
		}
	}
	return {
		looks,
		endedCounts
	};
}
/** A step as the contract tells it. `odd` is null where nothing but the sample tells what did not complete. */
function trendStep(n, { fromAt, stepMs, type }, endedCount, sight, odd) {
	const at = { fromAt: fromAt + n * stepMs };
	if (sight === void 0) return {
		...at,
		...nothing,
		sampled: false
	};
	const { lookedCount, ...seen } = sight;
	if (endedCount <= lookedCount) return {
		...at,
		...seen,
		sampled: false
	};
	const scale = (count) => Math.round(count * endedCount / lookedCount);
	const { failed, cancelled, expired } = odd ?? {
		failed: scale(seen.failed),
		cancelled: scale(seen.cancelled),
		expired: scale(seen.expired)
	};
	const completed = type === null ? Math.max(0, endedCount - failed - cancelled - expired) : scale(seen.completed);
	return {
		...at,
		...seen,
		completed,
		failed,
		cancelled,
		expired,
		sampled: true
	};
}
const nothing = {
	completed: 0,
	failed: 0,
	cancelled: 0,
	expired: 0,
	durationMsP50: null,
	durationMsP95: null,
	waitMsP50: null,
	waitMsP95: null,
	waitMsP99: null,
	latenessMsP50: null,
	latenessMsP95: null,
	latenessMsP99: null
};
// packages/core/src/engines/postgres/verbs/stats.ts
/** So many runs of a schedule say what is usual. */
const scheduleRunsMax = 200;
/** See the contract. */
async function stats(work, { now: stamp, sinceAt, types, scheduleIds = [] }) {
	const now = await nowOf$1(work, stamp);
	const byType = types?.length === 0 ? [] : await work.rows(statements.stats.outcomes, [sinceAt, types === null ? null : JSON.stringify(types)]);
	const bySchedule = scheduleIds.length === 0 ? [] : await work.rows(statements.stats.outcomesOfSchedules, [
		sinceAt,
		JSON.stringify(scheduleIds),
		scheduleRunsMax
	]);
	return {
		now,
		types: byType.map((row) => ({ ...row })),
		schedules: bySchedule.map((row) => ({ ...row }))
	};
}
/** See the contract. */
async function trend(work, input) {
	const { fromAt, stepMs, stepCount, type, scheduleId } = input;
	const now = await nowOf$1(work, input.now);
	const parts = trendParts(input);
	const { looks, endedCounts } = trendLooks(parts, (scheduleId === null ? await work.rows(statements.stats.ended, [JSON.stringify(parts), partCountMax]) : await work.rows(statements.stats.endedOfSchedule, [
		JSON.stringify(parts),
		partCountMax,
		scheduleId
	])).map(({ count }) => count), input);
	const looksText = JSON.stringify(looks);
	const seen = looks.length === 0 ? [] : scheduleId === null ? await work.rows(statements.stats.sample, [looksText, type]) : await work.rows(statements.stats.sampleOfSchedule, [
		looksText,
		type,
		scheduleId
	]);
	const sights = new Map(seen.map(({ step, ...sight }) => [step, sight]));
	const odd = endedCounts.some((count) => count > input.sampleCount) && scheduleId === null ? await work.rows(statements.stats.odd, [
		fromAt,
		stepMs,
		fromAt + stepCount * stepMs,
		type
	]) : null;
	const oddOf = (step, status) => odd?.find((row) => row.step === step && row.status === status)?.count ?? 0;
	return {
		now,
		steps: endedCounts.map((count, n) => trendStep(n, input, count, sights.get(n), odd === null ? null : {
			failed: oddOf(n, "FAILED"),
			cancelled: oddOf(n, "CANCELLED"),
			expired: oddOf(n, "EXPIRED")
		}))
	};
}
async function nowOf$1(work, stamp) {
	const [row] = await work.rows(statements.job.now, [stamp ?? null]);
	return row.now;
}
// packages/core/src/engines/postgres/verbs/transfer-tables.ts
/** A slot of the contract, in the columns of this engine. */
function slotColumns({ slot, policy }) {
	const { retentionMs, deadRetentionMs } = JSON.parse(policy);
	const kept = {
		retention_ms: retentionMs,
		dead_retention_ms: deadRetentionMs
	};
	if (slot === null) return {
		...kept,
		slot: null,
		slot_at: null,
		slot_allow: false,
		slot_details: null
	};
	const { details, ...rest } = JSON.parse(slot);
	const isAllowed = rest.allow === true;
	return {
		...kept,
		slot: JSON.stringify(rest),
		slot_at: rest.slotAt,
		slot_allow: isAllowed,
		slot_details: details
	};
}
function readSlot({ slot_details: details, ...row }) {
	const slot = toSlot(row.slot, details);
	return {
		...row,
		slot: slot === null ? null : JSON.stringify(slot)
	};
}
const over = (table) => ({
	from: `#${table}`,
	select: [...overColumns, "slot_details"],
	key: ["id"],
	read: readSlot,
	insert: (row) => [[table, {
		...row,
		...slotColumns(row)
	}]]
});
const ofLease = [
	"begun_at",
	"percent",
	"message",
	"step",
	"step_of"
];
const specColumns = [
	"app",
	"tenant",
	"name",
	"spec",
	"created_at"
];
/** The tables of each part. */
const partTables = {
	...Object.fromEntries(Object.entries(plainParts).map(([part, { key, columns }]) => [part, {
		from: `#${part}`,
		select: columns,
		key: columns.slice(0, key),
		insert: (row) => [[part, row]]
	}])),
	jobs: {
		from: "#jobs j LEFT JOIN #leases l ON l.id = j.id",
		select: [
			...liveColumns.map((column) => {
				if (column === "fence") return "coalesce(l.fence, j.fence) AS fence";
				if (ofLease.includes(column)) return `CASE WHEN l.id IS NULL THEN j.${column} ELSE l.${column} END AS ${column}`;
				return `j.${column}`;
			}),
			"j.slot_details",
			"l.until_at - @now AS lease_left_ms"
		],
		key: ["j.seq"],
		read: readSlot,
		insert({ lease_left_ms: leftMs, ...row }, now) {
			const job = ["jobs", {
				...row,
				...slotColumns(row)
			}];
			if (leftMs === null) return [job];
			const { id, seq, fence, node, begun_at, percent, message, step, step_of } = row;
			const lease = {
				id,
				seq,
				fence,
				node,
				begun_at,
				percent,
				message,
				step,
				step_of
			};
			const plain = row.dedupe_key === null && row.serial === null;
			return [job, ["leases", {
				...lease,
				token: null,
				plain,
				until_at: now + Number(leftMs),
				cancel_at: row.cancel_requested_at
			}]];
		}
	},
	finished: over("finished"),
	dead: over("dead"),
	gates: {
		from: "#gates",
		select: [
			"kind",
			"ref",
			"order_at",
			"seq",
			"job"
		],
		key: [
			"ref",
			"kind",
			"order_at",
			"seq"
		],
		insert: (row) => [["gates", row]]
	},
	places: {
		from: "#places p JOIN #jobs j ON j.id = p.job",
		select: [
			"p.kind",
			"p.ref",
			"j.seq",
			"p.job"
		],
		key: ["p.kind", "p.ref"],
		insert: ({ kind, ref, job }) => [["places", {
			kind,
			ref,
			job
		}]]
	},
	schedules: {
		from: "#schedules s JOIN #specs p ON p.id = s.id",
		select: scheduleColumns.map((column) => `${specColumns.includes(column) ? "p" : "s"}.${column}`),
		key: ["s.seq"],
		insert(row) {
			const isOfSpec = (name) => name === "id" || specColumns.includes(name);
			const pick = (wants) => Object.fromEntries(Object.entries(row).filter(([name]) => wants(name)));
			return [["schedules", pick((name) => !specColumns.includes(name))], ["specs", pick(isOfSpec)]];
		}
	},
	locks: {
		from: "#locks",
		select: [...[
			"name",
			"fence",
			"token",
			"holder"
		], "until_at - @now AS left_ms"],
		key: ["name"],
		insert: ({ left_ms: leftMs, ...row }, now) => [["locks", {
			...row,
			until_at: now + Number(leftMs)
		}]]
	}
};
// packages/core/src/engines/postgres/verbs/transfer.ts
const unfenced = ["transfers", "meta"];
const fenceMs = 6e4;
const named = (sql, prefix) => sql.replaceAll("#", `duly.${prefix}`);
/** See the contract. */
async function transfer(work, input) {
	const { step, move, place } = input;
	if (step === "look") return stateOf(work, input);
	if (step === "leave") await giveLeftPlacesOn(work, input);
	await work.transaction(async (rows, allow) => {
		await allow(fenceMs);
		await rows("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", ["duly.move"]);
		const now = await nowOf(rows, input);
		const [mark = null] = await rows("SELECT role, move, place, at FROM duly.transfers");
		if (step === "leave" && !isMarkOf(mark, "source", input)) {
			refuseFenced(mark, place);
			await rename(rows, "", fencedPrefix);
			const [left] = await rows(named("SELECT count(*) AS n FROM #left_places", fencedPrefix));
			if (left?.n !== 0) throw leftPlacesRemain();
			await setMark(rows, {
				role: "source",
				move,
				place,
				at: now
			});
		} else if (step === "arrive" && !isMarkOf(mark, "target", input)) {
			refuseFenced(mark, place);
			const filled = Object.entries(await countsOf(rows, "")).find(([, count]) => count > 0);
			if (filled !== void 0 || await liveNodes(rows, now) > 0) throw notEmpty(filled);
			await rename(rows, "", fencedPrefix);
			await setMark(rows, {
				role: "target",
				move,
				place,
				at: now
			});
		} else if (step === "clear") {
			requireArriving(mark, input);
			await clear(rows);
		} else if (step === "settle" && !isMarkOf(mark, "arrived", input)) {
			const { at, place: from } = requireArriving(mark, input);
			await settle(rows, input.counters);
			await setMark(rows, {
				role: "arrived",
				move,
				place: from,
				at
			});
		} else if (step === "reopen" && mark !== null && mark.move === move && mark.role !== "arrived") {
			if (mark.role === "target") await clear(rows);
			await rename(rows, fencedPrefix, "");
			await rows("DELETE FROM duly.transfers");
		}
	});
	return stateOf(work, input);
}
async function giveLeftPlacesOn(work, { now }) {
	const claim = {
		token: "move",
		node: "move",
		tasks: [],
		queues: [],
		limit: 0,
		leaseMs: 1,
		idle: false
	};
	const { exchange } = await import("./exchange2.js");
	await exchange(work, {
		settle: [],
		claim,
		...now === void 0 ? {} : { now }
	}).catch((error) => {
		if (!isDulyError(error, "store_moved")) throw error;
	});
}
function leftPlacesRemain() {
	return dulyError("store_busy", {
		message: "A serial key was released by a transaction at the moment of the move. Nothing was changed.",
		hint: "Begin the move again."
	});
}
async function stateOf(work, input) {
	return work.transaction(async (rows) => {
		const now = await nowOf(rows, input);
		const [mark = null] = await rows("SELECT role, move, place, at FROM duly.transfers");
		const prefix = prefixOf(mark);
		const [fence] = await rows("SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS n FROM duly.fence");
		const [feed] = await rows(named(`SELECT first_position + n - 1 + (SELECT coalesce(sum(c.n), 0)::bigint FROM #changes c WHERE NOT pg_visible_in_snapshot(c.xid, p.seen)) AS n
         FROM #feed_pages p ORDER BY page DESC LIMIT 1`, prefix));
		const [pruned] = await rows(statements.meta.pruned);
		return {
			now,
			mark,
			counts: await countsOf(rows, prefix),
			counters: {
				fence: fence?.n ?? 0,
				changes: feed?.n ?? 0,
				prunedCreatedAt: pruned?.value ?? null
			},
			nodes: prefix === "" ? await liveNodes(rows, now) : 0
		};
	});
}
/** See the contract. */
async function exportRows(work, input) {
	const { part, after, limit } = input;
	const { from, select, key, read = (row) => row } = partTables[part];
	const prefix = prefixOf(await work.mark());
	const columns = [...select, ...key.map((column, i) => `${column} AS key_${i}`)].join(", ");
	const values = [limit, ...after ?? []];
	const sql = `SELECT ${columns} FROM ${from}${after === null ? "" : ` WHERE (${key.join(", ")}) > (${key.map((_, i) => `$${i + 2}`).join(", ")})`} ORDER BY ${key.join(", ")} LIMIT $1`;
	const [clock] = await work.rowsOnce(statements.clock.now, []);
	const now = input.now ?? clock.now;
	const found = await work.rowsOnce(named(sql, prefix).replaceAll("@now", String(now)), values);
	const last = found.length < limit ? void 0 : found.at(-1);
	return {
		now,
		rows: found.map((row) => read(Object.fromEntries(Object.entries(row).filter(([name]) => !/^key_\d$/.test(name))))),
		next: last === void 0 ? null : key.map((_, i) => last[`key_${i}`])
	};
}
/** See the contract. */
async function importRows(work, input) {
	const { insert } = partTables[input.part];
	return work.transaction(async (rows) => {
		const now = await nowOf(rows, input);
		const [mark = null] = await rows("SELECT role, move, place, at FROM duly.transfers");
		requireArriving(mark, input);
		const byTable = /* @__PURE__ */ new Map();
		for (const one of input.rows) for (const [table, row] of insert(one, now)) {
			const kept = Object.fromEntries(Object.entries(row).map(([name, value]) => [name, typeof value === "string" ? keepable(value) : value]));
			const list = byTable.get(table) ?? [];
			list.push(kept);
			byTable.set(table, list);
		}
		for (const [table, list] of byTable) {
			const names = Object.keys(list[0]).map((name) => `"${name}"`).join(", ");
			await rows(named(`INSERT INTO #${table} (${names}) OVERRIDING SYSTEM VALUE SELECT ${names} FROM json_populate_recordset(NULL::#${table}, $1::json)${table === "finished" ? "" : " ON CONFLICT DO NOTHING"}`, fencedPrefix), [JSON.stringify(list)]);
		}
		return { now };
	});
}
async function settle(rows, { fence, changes, prunedCreatedAt }) {
	await rename(rows, fencedPrefix, "");
	await rows("SELECT setval('duly.fence', greatest($1::bigint, (SELECT last_value FROM duly.fence)))", [Math.max(1, fence)]);
	for (const [table, column] of [
		["jobs", "seq"],
		["schedules", "seq"],
		["audit", "position"]
	]) await rows(`SELECT setval(pg_get_serial_sequence('duly.${table}', '${column}'), coalesce(${table === "jobs" ? `greatest((SELECT max(seq) FROM duly.jobs), (SELECT max(seq) FROM duly.finished), (SELECT max(seq) FROM duly.dead))` : `(SELECT max(${column}) FROM duly.${table})`}, 0) + 1, false)`);
	await rows("UPDATE duly.feed_pages SET first_position = greatest(first_position, $1::bigint + 1) WHERE n = 0", [changes]);
	if (prunedCreatedAt !== null) await rows(statements.meta.notePruned, [prunedCreatedAt]);
	for (const table of [
		"jobs",
		"schedules",
		"slots",
		"finished",
		"dead"
	]) await rows(`ANALYZE duly.${table}`);
}
function prefixOf(mark) {
	return mark === null || mark.role === "arrived" ? "" : fencedPrefix;
}
async function setMark(rows, { role, move, place, at }) {
	await rows("DELETE FROM duly.transfers");
	await rows("INSERT INTO duly.transfers (role, move, place, at) VALUES ($1, $2, $3, $4)", [
		role,
		move,
		place,
		at
	]);
}
async function nowOf(rows, { now }) {
	if (now !== void 0) return now;
	const [clock] = await rows(statements.clock.now);
	return clock.now;
}
async function countsOf(rows, prefix) {
	const columns = transferParts.map((part) => `(SELECT count(*) FROM ${partTables[part].from}) AS ${part}`);
	const [row] = await rows(named(`SELECT ${columns.join(", ")}`, prefix));
	return row;
}
async function liveNodes(rows, now) {
	const [row] = await rows("SELECT count(*) AS n FROM duly.nodes WHERE heartbeat_at >= $1", [now - liveNodeMs]);
	return row.n;
}
/**
* The tables and views to rename that start with the prefix. Partitions of the history are no tables here.
*/
async function tablesOf(rows, kinds, prefix) {
	return (await rows(`SELECT c.relname AS name FROM pg_class c WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'duly.meta'::regclass)
     AND c.relkind::text = ANY ($1::text[]) AND NOT c.relispartition ORDER BY c.relname`, [kinds])).map(({ name }) => name).filter((name) => name.startsWith(prefix) && !unfenced.includes(name));
}
/**
* Renames all tables that start with `from`. Each rename locks its table: it waits for the calls that use the
* table, and later calls wait for the commit and then find no table.
*/
async function rename(rows, from, to) {
	for (const table of await tablesOf(rows, "{r,p,v}", from)) await rows(`ALTER TABLE duly."${table}" RENAME TO "${to}${table.slice(from.length)}"`);
}
/** Deletes what arrived so far. The last page of the feed stays, because it holds the position. */
async function clear(rows) {
	await rows(`TRUNCATE ${(await tablesOf(rows, "{r,p}", fencedPrefix)).filter((table) => table !== `${fencedPrefix}feed_pages`).map((table) => `duly."${table}"`).join(", ")}`);
}
// packages/core/src/engines/shared/upcoming-steps.ts
/** What was counted of each type, put together. A type of which one more than `cap` was seen has more than that. */
function addSteps(counted, { fromAt, stepMs, cap }) {
	const counts = /* @__PURE__ */ new Map();
	const seen = /* @__PURE__ */ new Map();
	for (const { type, step, count } of counted) {
		counts.set(step, (counts.get(step) ?? 0) + count);
		seen.set(type, (seen.get(type) ?? 0) + count);
	}
	return {
		steps: [...counts].sort(([one], [other]) => one - other).map(([step, count]) => ({
			fromAt: fromAt + step * stepMs,
			count
		})),
		capped: [...seen.values()].some((count) => count > cap)
	};
}
// packages/core/src/engines/postgres/verbs/upcoming.ts
/** See the contract. */
async function upcoming(work, input) {
	const { withinMs, stepMs, cap, limit, tenant } = input;
	const [{ now }] = await work.rows(statements.job.now, [input.now ?? null]);
	const whose = [tenant === void 0, tenant ?? null];
	const counted = await work.rows(statements.upcoming.steps, [...[
		now,
		now + withinMs,
		stepMs,
		cap
	], ...whose]);
	const { jobs } = await get(work, {
		now,
		ids: (await work.rows(statements.upcoming.earliest, [...[
			now,
			now + withinMs,
			limit
		], ...whose])).map(({ id }) => id)
	});
	return {
		now,
		...addSteps(counted, {
			fromAt: now,
			stepMs,
			cap
		}),
		jobs: jobs.filter((job) => job !== null && (job.status === "SCHEDULED" || job.status === "RETRYING"))
	};
}
// packages/core/src/engines/postgres/verbs/values.ts
/** See the contract. */
function putExpiring(work, input) {
	return eachGroup(input.groups, ({ actor, changes }) => ({
		actor,
		changes: changes.map(writtenChange)
	}), (groups) => work.call(statements.call.putExpiring, [input.now ?? null, JSON.stringify(groups)], input.groups.flatMap(({ changes }) => changes.flatMap(cleanupsOf))));
}
function cleanupsOf(change) {
	return change.op === "put" && change.cleanup !== null ? [change.cleanup] : [];
}
function writtenChange(change) {
	if (change.op === "delete") return change;
	const due = checkedDue(change.due);
	if (change.op === "extend") return {
		...change,
		due
	};
	return {
		...change,
		due,
		cleanup: change.cleanup === null ? null : writtenSpec(change.cleanup)
	};
}
/** See the contract. */
async function getExpiring(work, input) {
	const rows = await work.rows(statements.value.get, [input.now ?? null, JSON.stringify(input.keys)]);
	return {
		now: rows[0].now,
		values: rows.filter(({ i }) => i !== null).map(({ value, expires_at }) => value === null ? null : {
			value,
			expiresAt: expires_at
		})
	};
}
/** See the contract. */
async function remember(work, input) {
	const { now, value, result } = await work.call(statements.call.remember, [
		input.now ?? null,
		input.scope,
		input.key,
		input.put === null ? null : JSON.stringify(input.put)
	]);
	return {
		now,
		value,
		result
	};
}
// packages/core/src/engines/postgres/engine.ts
/** The verbs of this engine. `migrate` is below. */
const verbs = /* @__PURE__ */ __exportAll({
	acquire: () => acquire,
	act: () => act,
	applySchedules: () => applySchedules,
	audit: () => audit,
	cancel: () => cancel,
	changes: () => changes,
	claimSchedules: () => claimSchedules,
	counts: () => counts,
	enqueue: () => enqueue,
	exchange: () => exchange,
	exportRows: () => exportRows,
	fire: () => fire,
	get: () => get,
	getExpiring: () => getExpiring,
	heartbeat: () => heartbeat,
	heldLocks: () => heldLocks,
	holder: () => holder,
	importRows: () => importRows,
	keepDays: () => keepDays,
	list: () => list,
	logs: () => logs,
	nodes: () => nodes,
	prune: () => prune,
	putExpiring: () => putExpiring,
	reap: () => reap,
	records: () => records,
	release: () => release,
	remember: () => remember,
	renew: () => renew,
	report: () => report,
	reschedule: () => reschedule,
	retry: () => retry,
	schedules: () => schedules,
	settleInTransaction: () => settleInTransaction,
	slots: () => slots,
	stats: () => stats,
	transfer: () => transfer,
	trend: () => trend,
	upcoming: () => upcoming,
	writtenReport: () => writtenReport
});
/** Opens the engine on PostgreSQL. */
async function openPostgresEngine(options) {
	return createPostgresEngine(await openPostgres(options));
}
/** Makes the engine of an open PostgreSQL: every verb is one round trip, or a few where nobody waits for it. */
function createPostgresEngine(opened) {
	const work = new Work(opened.database, opened.schema, (notifications) => opened.notify(notifications), { scanHints: new ClaimScanHints(opened.clock) });
	const transactionWatch = createTransactionWatch({
		database: opened.database,
		clock: opened.clock,
		notify: (notifications) => opened.notify(notifications)
	});
	const vacuum = createVacuum(opened);
	const bound = mapVerbs((verb) => {
		const run = verbs[verb];
		return (input) => run(work, input);
	});
	return {
		...bound,
		async exchange(input) {
			const reply = await bound.exchange(input);
			vacuum.noteWrites(input.settle.length);
			return reply;
		},
		async fire(input) {
			const reply = await bound.fire(input);
			vacuum.noteWrites(input.groups.length);
			return reply;
		},
		info: () => opened.info,
		async migrate(input) {
			const { from, steps } = await opened.migrate(input);
			return {
				now: input.now ?? await storeNow(work),
				from,
				to: schemaVersion,
				steps
			};
		},
		subscribe: (listener) => opened.subscribe(listener),
		probe: () => opened.probe(),
		async userTransaction(tx) {
			const { place, id = 0 } = opened.info;
			return createPostgresUserTransaction(tx, {
				schema: opened.schema,
				place,
				id,
				watchTransaction: transactionWatch.watch
			});
		},
		watchTransaction: (watched) => transactionWatch.watch(watched),
		close() {
			vacuum.close();
			transactionWatch.close();
			return opened.close();
		}
	};
}
async function storeNow(work) {
	const [row] = await work.rowsOnce(statements.clock.now, []);
	return row.now;
}
// packages/core/src/base/nearest.ts
const wordLengthMax = 64;
/**
* The candidate that someone who wrote `word` most likely meant, or undefined if none is close: at most one slip in three
* letters, where a slip is a letter too many, too few, wrong, or swapped with its neighbour. Case does not count. Of equally
* close ones the first is taken.
*/
function nearest(word, candidates) {
	const from = word.toLowerCase();
	if (from === "" || from.length > wordLengthMax) return void 0;
	let best;
	let bestDistance = Math.max(1, Math.floor(from.length / 3)) + 1;
	for (const candidate of candidates) {
		if (Math.abs(candidate.length - from.length) >= bestDistance) continue;
		const distance = editDistance(from, candidate.toLowerCase());
		if (distance < bestDistance && distance < from.length) {
			best = candidate;
			bestDistance = distance;
		}
	}
	return best;
}
/** Slips between two words (optimal string alignment distance). */
function editDistance(from, to) {
	let beforePrevious = [];
	let previous = Array.from({ length: to.length + 1 }, (_, i) => i);
	for (let i = 1; i <= from.length; i++) {
		const current = [i];
		for (let j = 1; j <= to.length; j++) {
			const same = from[i - 1] === to[j - 1];
			let least = Math.min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (same ? 0 : 1));
			if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]) least = Math.min(least, beforePrevious[j - 2] + 1);
			current.push(least);
		}
		beforePrevious = previous;
		previous = current;
	}
	return previous[to.length];
}
// packages/core/src/base/option-reader.ts
const unescaped = /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
/** How a wrong value is shown in a message: short, texts in quotes and nothing else, and never the inside of an object. */
function shown(value) {
	switch (typeof value) {
		case "string": return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value).replace(unescaped, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
		case "object": return shownObject(value);
		case "function": return "a function";
		case "symbol": return "a symbol";
		case "bigint": return `${String(value).slice(0, 40)}n`;
		default: return String(value);
	}
}
function shownObject(value) {
	if (value === null) return "null";
	if (isProxy(value)) return "a proxy";
	if (Array.isArray(value)) return "an array";
	if (!isDate(value)) return "an object";
	const at = value.getTime();
	return Number.isNaN(at) ? "an invalid Date" : `a Date of ${at} ms`;
}
// packages/core/src/base/duration.ts
const secondMs = 1e3;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const weekMs = 7 * dayMs;
const textLengthMax = 100;
const unitMs = Object.assign(Object.create(null), {
	...unitsOf(1, "ms", "msec", "msecs", "millisecond", "milliseconds"),
	...unitsOf(secondMs, "s", "sec", "secs", "second", "seconds"),
	...unitsOf(minuteMs, "m", "min", "mins", "minute", "minutes"),
	...unitsOf(hourMs, "h", "hr", "hrs", "hour", "hours"),
	...unitsOf(dayMs, "d", "day", "days"),
	...unitsOf(weekMs, "w", "week", "weeks")
});
function unitsOf(ms, ...names) {
	return Object.fromEntries(names.map((name) => [name, ms]));
}
/**
* Reads a duration and returns whole milliseconds, from 0 (or `minMs`) to `durationMsMax`.
* Throws `invalid_duration`, which names the field and the value. Months and years are refused, because their length
* depends on where one begins to count.
*/
function parseDuration(value, field = "duration", { minMs = 0 } = {}) {
	const ms = typeof value === "string" ? readText(value, field) : readNumber(value, field);
	if (ms < 0 || Object.is(ms, -0)) refuse(value, field, "to be 0 or more");
	if (ms < minMs) refuse(value, field, `to be at least ${formatDuration(minMs)}`);
	if (ms > 315576e7) refuse(value, field, "to be at most 100 years (36525 days)");
	return Math.round(ms);
}
function readNumber(value, field) {
	if (typeof value === "number" && Number.isFinite(value)) return value === 0 ? 0 : value;
	return refuse(value, field, "to be milliseconds as a finite number, or a text like \"15m\"");
}
function readText(value, field) {
	const text = value.trim();
	if (text.length > textLengthMax) refuse(value, field, `to have at most ${textLengthMax} characters`);
	if (text.startsWith("-")) refuse(value, field, "to be 0 or more");
	if (/^p/i.test(text)) return readIso(value, text, field);
	return readUnits(value, text, field);
}
/** `1h30m`, `3 days`, `1.5 h`: numbers with units, larger units first, each at most once. */
function readUnits(value, text, field) {
	if (/^\d+(?:\.\d+)?$/.test(text)) return refuse(value, field, `to have a unit, like "${text}ms" or "${text}s"`, "Milliseconds can be given as a number.");
	if (/\de[+-]?\d/i.test(text)) return refuse(value, field, "to be written without an exponent, and to be at most 100 years (36525 days)");
	if (!/^(?:(?:\d+(?:\.\d+)?|\.\d+)\s*[a-z]+[\s,]*)+$/i.test(text)) return refuse(value, field, "to be a duration like \"15m\", \"3 days\", \"1h30m\" or \"PT15M\"");
	let totalMs = 0;
	let previousMs = Number.POSITIVE_INFINITY;
	for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?|\.\d+)\s*([a-z]+)/gi)) {
		if (unit === "M") refuse(value, field, "to say \"m\" or \"min\" for minutes; \"M\" could mean months");
		const ms = unitMs[unit.toLowerCase()];
		if (ms === void 0) {
			if (/^(?:mo|mos|mth|mths|months?|y|yr|yrs|years?)$/i.test(unit)) refuseCalendar(value, field);
			return refuse(value, field, `to use units from "ms" to "weeks", not "${unit.slice(0, 20)}"`);
		}
		if (ms >= previousMs) refuse(value, field, "to name each unit once, the largest first");
		previousMs = ms;
		totalMs += Number(amount) * ms;
	}
	return totalMs;
}
/** `PT15M`, `P3DT4H`, `P2W`. */
function readIso(value, text, field) {
	const number = "(\\d+(?:[.,]\\d+)?)";
	const match = new RegExp(`^P(?:${number}Y)?(?:${number}M)?(?:${number}W)?(?:${number}D)?(?:T(?=\\d)(?:${number}H)?(?:${number}M)?(?:${number}S)?)?$`, "i").exec(text);
	if (match === null || text.length < 3) return refuse(value, field, "to be an ISO 8601 duration like \"PT15M\", \"P3DT4H\" or \"P2W\"");
	const [years, months, weeks, days, hours, minutes, seconds] = match.slice(1).map((part) => part === void 0 ? 0 : Number(part.replace(",", ".")));
	if (match[1] !== void 0 || match[2] !== void 0 || years + months > 0) refuseCalendar(value, field);
	return weeks * weekMs + days * dayMs + hours * hourMs + minutes * minuteMs + seconds * secondMs;
}
function refuseCalendar(value, field) {
	return refuse(value, field, "to have no months or years: their length depends on the date", "Write days (\"30 days\"; in ISO 8601 \"PT1M\" is a minute), or give the instant itself with at().");
}
function refuse(value, field, expected, hint) {
	throw dulyError("invalid_duration", {
		message: `Expected "${field}" ${expected}, got ${shown(value)}.`,
		hint: hint ?? "Durations are milliseconds, or texts like \"250ms\", \"15m\", \"1h30m\", \"3 days\" and \"PT15M\".",
		details: {
			field,
			value: shown(value)
		}
	});
}
/** A short form for people, with the two largest units at most: `3 d 4 h`, `2 min 5 s`, `1.2 s`, `90 ms`. */
function formatDuration(ms) {
	if (!Number.isFinite(ms)) return String(ms);
	if (ms < 0) {
		const positive = formatDuration(-ms);
		return positive === "0 ms" ? positive : `-${positive}`;
	}
	const wholeMs = Math.round(ms);
	if (wholeMs < secondMs) return `${wholeMs} ms`;
	const tenths = Math.round(ms / 100);
	if (tenths < 600) return `${tenths / 10} s`;
	const seconds = Math.round(ms / secondMs);
	if (seconds < 3600) return twoUnits(seconds, 60, "min", "s");
	const minutes = Math.round(ms / minuteMs);
	if (minutes < 1440) return twoUnits(minutes, 60, "h", "min");
	return twoUnits(Math.round(ms / hourMs), 24, "d", "h");
}
function twoUnits(amount, size, large, small) {
	const rest = amount % size;
	const whole = `${Math.floor(amount / size)} ${large}`;
	return rest === 0 ? whole : `${whole} ${rest} ${small}`;
}
// packages/core/src/store/store-url.ts
/** The schema of a store on PostgreSQL when nobody says. */
const defaultSchema = "duly";
const sqliteParameters = [
	"busy",
	"exclusive",
	"inline"
];
const postgresParameters = [
	"schema",
	"pool",
	"listenUrl",
	"inline",
	"existing"
];
const poolSizeMax = 1e3;
const schemaLengthMax = 48;
/** Reads a store's address: `sqlite:./duly.db`, `sqlite::memory:`, `postgres://user:password@host/database?schema=duly`. */
function parseStoreAddress(url) {
	const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase();
	if (scheme === "sqlite") return parseSqlite(url);
	if (scheme === "postgres" || scheme === "postgresql") return parsePostgres(url);
	if (scheme === "redis" || scheme === "rediss" || scheme === "valkey") throw dulyError("engine_not_yet", {
		message: "The Redis engine does not exist yet; the store was not opened.",
		hint: "Use an SQLite file (\"sqlite:./duly.db\") or PostgreSQL (\"postgres://host/database\").",
		details: { scheme }
	});
	throw dulyError("unknown_store", {
		message: `Expected a store address like "sqlite:./duly.db", got ${scheme === void 0 ? "one without a scheme" : `the scheme "${scheme}:"`}.`,
		hint: "Write \"sqlite:\" and the path of a file, \"sqlite::memory:\", or \"postgres://user:password@host:5432/database\".",
		details: { scheme: scheme ?? null }
	});
}
function parseSqlite(url) {
	const [path = "", query = ""] = url.slice(7).replace(/^\/\/(?=.)/, "").split(/\?(.*)/s);
	const given = new URLSearchParams(query);
	for (const name of given.keys()) {
		if (sqliteParameters.includes(name)) continue;
		throw dulyError("unknown_store", {
			message: `The store address has an unknown parameter "${name}".`,
			hint: `Known are ${sqliteParameters.map((one) => `"${one}"`).join(", ")}.`
		});
	}
	if (path.startsWith("file:")) throw dulyError("unknown_store", {
		message: "The store address names its file as a \"file:\" URL, which is not understood.",
		hint: "Write the path itself: \"sqlite:./duly.db\" or \"sqlite:/var/lib/duly.db\"."
	});
	if (path === "") throw dulyError("unknown_store", {
		message: "The store address \"sqlite:\" names no file.",
		hint: "Write \"sqlite:./duly.db\", or \"sqlite::memory:\" for a store that ends with the process."
	});
	return {
		kind: "sqlite",
		path,
		inline: path === ":memory:" || isOn(given, "inline"),
		busyMs: given.has("busy") ? parseDuration(given.get("busy"), "busy") : 5e3,
		exclusive: isOn(given, "exclusive")
	};
}
function parsePostgres(url) {
	const given = readUrl(url, "A PostgreSQL address");
	const { searchParams } = given;
	for (const name of searchParams.keys()) refuseMisspelt(name);
	const take = (name) => {
		const value = searchParams.get(name);
		searchParams.delete(name);
		return value;
	};
	const takeFlag = (name) => {
		const value = isOn(searchParams, name);
		searchParams.delete(name);
		return value;
	};
	const schema = readSchemaName(take("schema") ?? "duly");
	const listenUrl = take("listenUrl");
	const pool = take("pool");
	if (listenUrl !== null) readUrl(listenUrl, "The address \"listenUrl\" of a PostgreSQL address");
	return {
		kind: "postgres",
		place: placeOfUrl(url, schema),
		schema,
		listenUrl,
		poolSize: pool === null ? 10 : readPoolSize(pool),
		inline: takeFlag("inline"),
		existing: takeFlag("existing"),
		connection: textOfPostgresUrl(given)
	};
}
/** Checks the name of a schema. It becomes part of every statement, so it is a plain name. */
function readSchemaName(name) {
	if (/^[a-z_][a-z0-9_]*$/.test(name) && name.length <= schemaLengthMax && !/^pg_/.test(name)) return name;
	throw dulyError("unknown_store", {
		message: `Expected the name of a schema to be small letters, digits and "_", not to begin with a digit or "pg_", and to have at most ${schemaLengthMax} signs; got "${name.slice(0, 100)}".`,
		hint: `Leave "schema" out for "${defaultSchema}".`,
		details: { schema: name }
	});
}
function readPoolSize(text) {
	const size = Number(text);
	if (Number.isInteger(size) && size >= 1 && size <= poolSizeMax) return size;
	throw dulyError("unknown_store", {
		message: `Expected "pool" of the store address to be a whole number from 1 to ${poolSizeMax}, got "${text.slice(0, 100)}".`,
		hint: `Leave it out for 10.`
	});
}
/** The driver takes any parameter and passes over what it does not know, so only what is nearly one of ours can be told. */
function refuseMisspelt(name) {
	const meant = nearest(name, postgresParameters);
	if (meant === void 0 || postgresParameters.includes(name)) return;
	throw dulyError("unknown_store", {
		message: `The store address has a parameter "${name}", which is not known.`,
		hint: `Did you mean "${meant}"?`,
		details: { parameter: name }
	});
}
function readUrl(url, what) {
	const read = readPostgresUrl(url);
	if (read !== null) return read;
	throw dulyError("unknown_store", {
		message: `${what} cannot be read.`,
		hint: "Write \"postgres://user:password@host:5432/database\", with one host; signs like \"@\", \"/\" or \"#\" in a password are written as %40, %2F, %23."
	});
}
function isOn(given, name) {
	return given.has(name) && given.get(name) !== "0" && given.get(name) !== "false";
}
// packages/core/test/engines/postgres/fixtures/upgrade-node.ts
const [url, node] = process.argv.slice(2);
const address = parseStoreAddress(url);
if (address.kind !== "postgres") throw new Error("The store has to be on PostgreSQL.");
const engine = await openPostgresEngine({
	...address,
	clock: systemClock,
	random: systemRandom,
	migrate: "create"
});
const held = [];
const kept = [];
let count = 0;
/** An id that no other node gives. */
const fresh = () => `${node}-${++count}`;
/** A job with such an id, due at once. */
const job = (fields = {}) => jobSpec({
	id: fresh(),
	due: { inMs: 0 },
	...fields
});
async function fill() {
	const create = async (jobs) => {
		await engine.enqueue({ groups: [{ jobs }] });
		return jobs.map(({ id }) => id);
	};
	const ended = await create([
		"COMPLETED",
		"FAILED",
		"RETRYING"
	].map((type) => job({
		type,
		metadata: "{\"m\":1}"
	})));
	const running = await create([job({ type: "RUNNING" })]);
	const tasks = [
		"COMPLETED",
		"FAILED",
		"RETRYING",
		"RUNNING"
	].map((type) => ({
		type,
		version: 1,
		limit: 1
	}));
	const { claimed } = await engine.exchange({
		settle: [],
		claim: claimRequest({
			token: fresh(),
			node: "away",
			tasks,
			leaseMs: day
		})
	});
	const settle = claimed.filter(({ type }) => type !== "RUNNING").map((one) => settlement(one, one.type, one.type === "RETRYING" ? { due: { inMs: day } } : {}));
	await engine.exchange({
		settle,
		claim: null
	});
	const idle = { type: "idle" };
	const waiting = await create([
		job({
			...idle,
			due: { inMs: day }
		}),
		job({
			...idle,
			tenant: "a tenant",
			dedupe: dedupe("held")
		}),
		job({
			...idle,
			serial: "line"
		}),
		job({
			...idle,
			serial: "line"
		})
	]);
	const cancelled = await create([job(idle)]);
	const targets = cancelled.map((id) => ({ id }));
	await engine.cancel({ groups: [{
		targets,
		mode: "ask",
		actor: "me",
		note: null
	}] });
	const expired = await create([job({
		...idle,
		startDeadlineMs: 1
	})]);
	while ((await engine.reap({
		node,
		leaseMs: minute,
		limit: 10
	})).expired === 0);
	const { now } = await engine.get({ ids: [] });
	const puts = [
		now,
		now,
		now,
		now + day
	].map((dueAt) => schedulePut({ dueAt }));
	await engine.applySchedules({ groups: [{
		changes: puts,
		actor: "me"
	}] });
	const lock = await engine.acquire({
		name: "kept",
		token: "lock",
		holder: {
			host: "h",
			pid: 1,
			node
		},
		ttlMs: day
	});
	await engine.records({ groups: [{
		ops: [{
			op: "put",
			kind: "test",
			key: "kept",
			value: "1"
		}],
		actor: "me"
	}] });
	kept.push(...ended, ...running, ...waiting, ...cancelled, ...expired);
	return {
		kept,
		fence: lock.fence
	};
}
async function round(done, creates) {
	const jobs = creates ? [
		job(),
		job({ serial: "one by one" }),
		job({ dedupe: dedupe(`key of ${node}`) })
	] : [];
	if (creates) {
		const reply = await engine.enqueue({
			groups: jobs.map((job) => ({ jobs: [job] })),
			repeat: true
		});
		for (const group of reply.groups) {
			if (!group.ok) throw new Error(JSON.stringify(group));
			for (const { id, deduped } of group.items) if (!deduped) done.created.push(id);
		}
	}
	await engine.report({
		reports: held.map(({ id, fence }) => ({
			id,
			fence,
			logs: [],
			progress: {
				percent: 50,
				message: "half",
				step: null,
				of: null
			}
		})),
		logLimit: 100
	});
	const leases = held.map(({ id, fence }) => ({
		id,
		fence,
		begun: true
	}));
	await engine.heartbeat({
		node,
		leaseMs: minute,
		leases
	});
	const settle = held.map((one) => settlement(one, "COMPLETED"));
	const { settled, claimed } = await engine.exchange({
		settle,
		claim: claimRequest({
			token: fresh(),
			node,
			limit: 5,
			leaseMs: minute
		})
	});
	for (const [i, state] of settled.entries()) if (state === "done") done.settled.push(settle[i]?.id ?? "");
	held.splice(0, held.length, ...claimed);
	if (creates) await fireSchedules(done);
	await engine.reap({
		node,
		leaseMs: minute,
		limit: 10
	});
	await engine.nodes({
		heartbeat: nodeInfo(node),
		leave: null,
		drain: null,
		forgetAfterMs: hour
	});
	return settle.length + claimed.length;
}
async function fireSchedules(done) {
	const { now, schedules } = await engine.claimSchedules({
		node,
		token: fresh(),
		limit: 10,
		leaseMs: minute,
		ids: null
	});
	if (schedules.length === 0) return;
	const runs = schedules.map(({ id }) => slotJob(id, now, {
		id: fresh(),
		due: { inMs: 0 }
	}));
	const groups = schedules.map((schedule, i) => {
		const run = runs[i];
		const slots = [slotRow(now, { jobId: run.id })];
		return fireGroup(schedule, {
			jobs: [run],
			slots,
			dueAt: now + 5
		});
	});
	const { groups: states } = await engine.fire({
		node,
		groups
	});
	for (const [i, state] of states.entries()) if (state === "fired") done.created.push(runs[i]?.id ?? "");
}
async function work(command) {
	if (command === "fill") return fill();
	if (command === "read") return (await engine.get({ ids: kept })).jobs;
	const done = {
		created: [],
		settled: []
	};
	if (command === "drain") while (await patiently(() => round(done, false)) > 0);
	else for (let i = 0; i < Number(command); i++) await patiently(() => round(done, true));
	return done;
}
/** Repeats what met the lock of a migration. */
async function patiently(call) {
	for (;;) try {
		return await call();
	} catch (error) {
		if (!isDulyError(error, "store_busy")) throw error;
	}
}
console.log(JSON.stringify({ open: engine.info().place }));
for await (const command of createInterface({ input: process.stdin })) console.log(JSON.stringify(await work(command)));
await engine.close();
export {};
