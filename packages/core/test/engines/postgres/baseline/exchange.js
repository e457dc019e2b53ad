// Made by node scripts/release-sql.ts. Do not edit.
import { r as statements, t as functionSet } from "./sql.js";
// packages/core/src/base/errors.ts
const brand = Symbol.for("duly.error");
/** Every error that Duly throws on purpose. Recognise it with `isDulyError` and by its `code`, not by its class. */
var DulyError = class extends Error {
	code;
	details;
	constructor(code, { message, hint, details = {}, cause }) {
		super(message, cause === void 0 ? void 0 : { cause });
		this.code = code;
		if (hint !== void 0) this.hint = hint;
		this.details = details;
	}
	get [brand]() {
		return true;
	}
};
Object.defineProperty(DulyError.prototype, "name", {
	value: "DulyError",
	configurable: true,
	writable: true
});
/** Makes an error with a code of the register. */
function dulyError(code, options) {
	const error = new DulyError(code, options);
	Error.captureStackTrace(error, dulyError);
	return error;
}
/** Whether this is an error of Duly (with this code, if one is given), from whichever copy of the package. */
function isDulyError(error, code) {
	if (typeof error !== "object" || error === null || error[brand] !== true) return false;
	return code === void 0 || error.code === code;
}
const causeDepthMax = 8;
/** Turns anything that was thrown into plain data; never throws itself. */
function toPlainError(error) {
	return plainErrorAt(error, 0);
}
function plainErrorAt(error, depth) {
	try {
		if (typeof error !== "object" || error === null) return plainFromValue(error);
		const { name, message, stack, code, hint, details, cause } = error;
		if (typeof message !== "string" && !(error instanceof Error)) return plainFromValue(error);
		return {
			duly: isDulyError(error),
			name: typeof name === "string" ? name : "Error",
			message: typeof message === "string" ? message : "",
			code: typeof code === "string" ? code : null,
			hint: typeof hint === "string" ? hint : null,
			details: isDulyError(error) && isRecord(details) ? plainValue(details, 0) : {},
			stack: typeof stack === "string" ? stack : null,
			cause: cause === void 0 || depth >= causeDepthMax ? null : plainErrorAt(cause, depth + 1)
		};
	} catch {
		return {
			...plainFromValue(void 0),
			message: "An error that cannot be read was thrown."
		};
	}
}
function plainFromValue(value) {
	let message;
	if (typeof value === "string") message = value;
	else if (typeof value === "object" && value !== null) message = `A value that is not an error was thrown: ${tagOf(value)}.`;
	else message = `A value that is not an error was thrown: ${String(value)}.`;
	return {
		duly: false,
		name: "NotAnError",
		message,
		code: null,
		hint: null,
		details: {},
		stack: null,
		cause: null
	};
}
function isRecord(value) {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
function tagOf(value) {
	return Object.prototype.toString.call(value).slice(8, -1);
}
/** Details as JSON would keep them; what it cannot keep becomes a word about it. */
function plainValue(value, depth) {
	if (value === null || typeof value === "string" || typeof value === "boolean") return value;
	if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
	if (typeof value !== "object") return value === void 0 ? void 0 : String(value);
	if (depth > causeDepthMax) return `[${tagOf(value)}]`;
	if (Array.isArray(value)) return value.map((one) => plainValue(one, depth + 1) ?? null);
	if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
	if (value instanceof Error) return String(value);
	return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plainValue(one, depth + 1)]));
}
// packages/core/src/contract/transfer.ts
/** The parts of a store in transfer order: referenced rows go first. */
const transferParts = [
	"records",
	"generations",
	"schedules",
	"slots",
	"compacted_months",
	"jobs",
	"gates",
	"places",
	"dedupes",
	"children",
	"finished",
	"dead",
	"logs",
	"expirings",
	"journal",
	"locks",
	"audit"
];
/** The error of every verb at a store that was transferred elsewhere, or has not fully arrived. */
function movedError(mark, place) {
	const details = {
		place,
		other: mark.place,
		move: mark.move
	};
	return mark.role === "source" ? dulyError("store_moved", {
		message: `The store at "${place}" was moved to "${mark.place}".`,
		hint: "Give that address as the store, and start again. Nothing is done here any more.",
		details
	}) : dulyError("store_arriving", {
		message: `The store at "${place}" is not all here yet: it is being moved from "${mark.place}".`,
		hint: "Wait for \"duly move\" to end, or repeat it if it was interrupted.",
		details
	});
}
// packages/core/src/contract/notifications.ts
const typesMax = 8;
/** Notifications that are sent together: one for each kind, with the types of all. One of any type, or too many types, make it any. */
var NotificationSet = class {
	/** Null: any type. */
	#types = /* @__PURE__ */ new Map();
	get size() {
		return this.#types.size;
	}
	has(kind) {
		return this.#types.has(kind);
	}
	/** Adds a notification about one type, or about any. */
	add(kind, type) {
		const types = this.#types.get(kind);
		if (type === void 0) this.#types.set(kind, null);
		else if (types === void 0) this.#types.set(kind, /* @__PURE__ */ new Set([type]));
		else if (types !== null && types.add(type).size > typesMax) this.#types.set(kind, null);
		return this;
	}
	/** Adds notifications as they were sent or received. */
	addAll(notifications) {
		for (const { kind, types } of notifications) if (types === void 0) this.add(kind);
		else for (const type of types) this.add(kind, type);
		return this;
	}
	/** Removes the notification of a kind and returns it as a list; empty: there was none. */
	take(kind) {
		const types = this.#types.get(kind);
		this.#types.delete(kind);
		return types === void 0 ? [] : [notificationOf(kind, types)];
	}
	/** Puts notifications of a kind, or none, in the place of the one that is here. */
	replace(kind, notifications) {
		this.#types.delete(kind);
		this.addAll(notifications);
	}
	/** Removes all notifications and returns them. */
	takeAll() {
		const all = [...this];
		this.#types.clear();
		return all;
	}
	*[Symbol.iterator]() {
		for (const [kind, types] of this.#types) yield notificationOf(kind, types);
	}
};
function notificationOf(kind, types) {
	return types === null ? { kind } : {
		kind,
		types: [...types]
	};
}
// packages/core/src/engines/shared/policies.ts
const policyCountMax = 1e3;
/** Makes the reader. */
function createPolicies() {
	const policies = /* @__PURE__ */ new Map();
	return (text) => {
		let policy = policies.get(text);
		if (policy === void 0) {
			policy = JSON.parse(text, (_, value) => Object.freeze(value));
			if (policies.size >= policyCountMax) policies.clear();
			policies.set(text, policy);
		}
		return policy;
	};
}
// packages/core/src/engines/postgres/work.ts
/** The schema that the SQL files are written for. */
const writtenSchema = /\bduly\./g;
/** The name of a function or view of this code's set, for a statement that is composed here. */
function ofSet(name) {
	return `duly.${name}_f${functionSet.number}`;
}
/** The text of a statement or migration for a store's own schema. The name was checked where the address was read. */
function inSchema(sql, schema) {
	return sql.replaceAll(writtenSchema, `"${schema}".`);
}
const kindOf = {
	j: "jobs",
	n: "jobs",
	c: "cancel",
	s: "schedules",
	l: "locks"
};
/** The notifications of a reply. `created`: what the call was to create; left out: unknown. */
function readNotifications(text, created) {
	const [letters, ...types] = text.split("\n");
	const notifications = new NotificationSet();
	for (const letter of letters) if (letter === "n" && created !== void 0) for (const { type } of created) notifications.add("jobs", type);
	else notifications.add(kindOf[letter]);
	for (const type of types) notifications.add("jobs", JSON.parse(type));
	return notifications;
}
/** How verbs reach the store: its statements by their text, and what is to be told once something is committed. */
var Work = class {
	#database;
	#schema;
	#notify;
	where;
	#texts = /* @__PURE__ */ new Map();
	/** What a stored policy says. */
	policy = createPolicies();
	/** Where claims begin to scan; null if this work claims nothing. */
	scanHints;
	constructor(database, schema, notify, { where = "own", scanHints = null } = {}) {
		this.#database = database;
		this.#schema = schema;
		this.#notify = notify;
		this.where = where;
		this.scanHints = scanHints;
	}
	/** The rows of a statement of this schema. */
	rows(sql, values) {
		let text = this.#texts.get(sql);
		if (text === void 0) {
			text = inSchema(sql, this.#schema);
			this.#texts.set(sql, text);
		}
		return this.#asked(text, values);
	}
	async #asked(text, values) {
		try {
			return await this.#database.query(text, values);
		} catch (error) {
			if (!unknownNames.has(sqlStateBehind(error) ?? "") || this.where === "user-transaction") throw error;
			const mark = await this.mark();
			throw mark === null ? error : movedError(mark, String(error.details.place ?? ""));
		}
	}
	/** What the store says of a move; null: it was never moved. */
	async mark() {
		const [row] = await this.#database.query(inSchema("SELECT role, move, place, at FROM duly.transfers", this.#schema));
		return row ?? null;
	}
	/** Several statements of this schema, all or nothing. */
	transaction(fn) {
		return this.#database.transaction((database, allow) => fn((sql, values = []) => database.query(inSchema(sql, this.#schema), values), allow));
	}
	/** The rows of a statement that was put together for this one call. */
	rowsOnce(sql, values) {
		return this.#asked(inSchema(sql, this.#schema), values);
	}
	/**
	* Calls a function of the schema: one round trip, one transaction. Its notifications are sent before this answers. `created`: the jobs that
	* it is to create, whose types the notification names.
	*/
	async call(sql, values, created) {
		let answer;
		try {
			[answer] = await this.rows(sql, values);
		} catch (error) {
			throw raisedError(error) ?? error;
		}
		const reply = readAnswer(answer.reply);
		if (reply.notifications !== void 0 && reply.notifications !== "") this.#notify([...readNotifications(reply.notifications, created)]);
		return reply;
	}
};
/** Where JSON ends and texts follow that were too long to be written as JSON. No JSON holds it. */
const textMark = "";
/** What a function of the schema answered: JSON, and perhaps texts behind it. */
function readAnswer(answer) {
	const jsonTo = answer.indexOf(textMark);
	if (jsonTo === -1) return JSON.parse(answer);
	const reply = JSON.parse(answer.slice(0, jsonTo));
	reply.texts = answer.slice(jsonTo + 1).split(textMark);
	return reply;
}
const unknownNames = /* @__PURE__ */ new Set([
	"42P01",
	"42704",
	"42883"
]);
/** The SQLSTATE of an id that is there already, where many jobs were to be created at once: nothing of the call was done. */
const uniqueViolation = "23505";
/** The SQLSTATE of a call whose parts cannot be done together: nothing of it was done, and one by one will do. */
const notTogether = "DU009";
/** Codes that functions of the schema raise. */
const raised = {
	DU001: "group_refused",
	DU002: "records_conflict",
	DU003: "lease_lost"
};
/** The SQLSTATE behind an error of the store. */
function sqlStateBehind(error) {
	const state = isDulyError(error) ? error.details.sqlState : null;
	return typeof state === "string" ? state : null;
}
/** What a function of the schema raised on purpose, as an error of Duly. */
function raisedError(error) {
	const code = raised[sqlStateBehind(error) ?? ""];
	if (code === void 0) return null;
	const { message, hint, detail } = error.cause;
	return dulyError(code, {
		message,
		hint,
		details: detail === void 0 ? {} : JSON.parse(detail)
	});
}
/** A group's answer as the contract has it. */
function toGroupReply(group) {
	if (group.ok) return group;
	const { code, message, hint, details } = group;
	return {
		ok: false,
		error: toPlainError(dulyError(code, {
			message,
			hint,
			details
		}))
	};
}
/**
* Prepares each group in this process; one that is refused here is not sent, and the others are. `send` answers those that were prepared,
* in their order.
*/
async function eachGroup(groups, prepare, send) {
	const prepared = [];
	const replies = groups.map((group) => {
		try {
			prepared.push(prepare(group));
			return null;
		} catch (error) {
			if (isDulyError(error, "group_refused")) return {
				ok: false,
				error: toPlainError(error)
			};
			throw error;
		}
	});
	const reply = await send(prepared);
	const answered = reply.groups.values();
	return {
		now: reply.now,
		groups: replies.map((one) => one ?? toGroupReply(answered.next().value))
	};
}
/** Free text as PostgreSQL can keep it: without U+0000, and without halves of a surrogate pair. */
function keepable(text) {
	if (text === null || !text.includes("\0") && text.isWellFormed()) return text;
	return text.replaceAll("\0", "�").toWellFormed();
}
// packages/core/src/lifecycle/is-plain.ts
/** Whether a job is plain: creating it touches no other job. It has no dedupe key, parent, gate or serial key. */
function isPlain(spec) {
	return spec.dedupe === null && spec.parent === null && spec.gates.length === 0 && spec.serial === null;
}
// packages/core/src/engines/postgres/arrays.ts
/**
* Lists as PostgreSQL reads arrays: `{a,b}`. Written here and not by the driver, which looks at every item in ways that cost more than the
* statement.
*/
const isBare = /^[\w-]+$/;
const isAwkward = /[\u0000-\u001f\ud800-\udfff]/;
/** A text in quotes. Where nothing else is to be escaped JSON does it the same way, at a third of the time. */
const quoted = (text) => isAwkward.test(text) ? `"${text.replaceAll(/["\\]/g, "\\$&")}"` : JSON.stringify(text);
/** Texts; null stands for NULL. */
function textArray(items) {
	let list = "";
	for (const item of items) {
		if (list !== "") list += ",";
		if (item === null) list += "NULL";
		else if (item.length > 4 && isBare.test(item)) list += item;
		else list += quoted(item);
	}
	return `{${list}}`;
}
/** Whole numbers; null stands for NULL. */
function numberArray(items) {
	return `{${items.map((item) => item ?? "NULL").join(",")}}`;
}
// packages/core/src/engines/postgres/job-columns.ts
/** A due time in whole milliseconds. One caller's slip must not fail the groups of others that travel with it. */
function checkedDue(due) {
	const given = "at" in due ? due.at : due.inMs;
	if (Number.isSafeInteger(given)) return due;
	throw dulyError("group_refused", {
		message: `Expected a due time in whole milliseconds, got ${given}.`,
		hint: "Round instants and durations before they are handed to the store."
	});
}
const policyTexts = /* @__PURE__ */ new WeakMap();
/** Jobs that are created together share a policy as a rule, and it is written once. */
function policyText(policy) {
	let text = policyTexts.get(policy);
	if (text === void 0) {
		text = JSON.stringify(policy);
		policyTexts.set(policy, text);
	}
	return text;
}
/** Writes a spec for the store. */
function writtenSpec(spec) {
	const { slot, policy } = spec;
	const written = {
		id: spec.id,
		type: spec.type,
		version: spec.version,
		queue: spec.queue,
		tenant: spec.tenant,
		priority: spec.priority,
		input: spec.input,
		metadata: spec.metadata,
		policy: policyText(policy),
		origin: spec.origin,
		rankOffsetMs: spec.rankOffsetMs,
		copyOf: spec.copyOf,
		...checkedDue(spec.due),
		startDeadlineMs: spec.startDeadlineMs,
		maxAttempts: policy.maxAttempts,
		retentionMs: policy.retentionMs,
		deadRetentionMs: policy.deadRetentionMs
	};
	if (slot !== null) {
		written.scheduleId = slot.scheduleId;
		written.slot = slotText(slot);
		written.slotAt = slot.slotAt;
		written.slotAllow = slot.allow === true;
		written.slotDetails = slot.details;
	}
	if (isPlain(spec)) return written;
	written.dedupe = spec.dedupe;
	written.serial = spec.serial;
	written.gates = spec.gates;
	written.parentId = spec.parent?.id ?? null;
	written.parentKey = spec.parent?.key ?? null;
	return written;
}
/** A slot as its job keeps it: without the details, which may still change. */
function slotText({ details: _details, ...rest }) {
	return JSON.stringify(rest);
}
// packages/core/src/engines/shared/job-row.ts
/** A row as the contract has it, at this instant of the store. */
function jobRecordOf(row, now, own) {
	const error = row.error === null ? null : JSON.parse(row.error);
	return {
		id: row.id,
		type: row.type,
		version: row.version,
		queue: row.queue,
		tenant: row.tenant,
		priority: row.priority,
		input: row.input,
		metadata: row.metadata,
		policy: JSON.parse(row.policy),
		fence: row.fence,
		attempt: row.attempt,
		spent: row.spent,
		maxAttempts: row.max_attempts,
		losses: row.losses,
		begunLosses: row.begun_losses,
		createdAt: row.created_at,
		dueAt: row.due_at,
		origin: row.origin,
		cancelRequestedAt: row.cancel_requested_at,
		status: statusAt(row, now),
		reason: row.reason,
		serial: row.serial,
		copyOf: row.copy_of,
		dedupeKey: row.dedupe_key,
		startedAt: row.started_at,
		latenessMs: row.lateness_ms,
		updatedAt: row.updated_at,
		finishedAt: row.finished_at ?? null,
		expireAt: row.expire_at,
		node: row.node,
		cancelledBy: row.cancelled_by,
		error,
		result: row.result ?? null,
		progress: {
			percent: row.percent,
			message: row.message,
			step: row.step,
			of: row.step_of
		},
		attempts: attemptsOf(row, error),
		leaseUntilAt: own.leaseUntilAt,
		gates: own.gates,
		parent: row.parent_id === null ? null : {
			id: row.parent_id,
			key: row.parent_key
		},
		slot: own.slot,
		dead: own.dead
	};
}
/** The status at this instant: a job whose time has come is PENDING for a reader, also before a node has looked. */
function statusAt({ status, due_at }, now) {
	return status === "SCHEDULED" && due_at <= now ? "PENDING" : status;
}
/** Earlier attempts, and the last one from the row's own columns: a job that runs once needs no list. */
function attemptsOf(row, error) {
	const attempts = JSON.parse(row.attempts);
	const last = attempts.at(-1);
	if (row.attempt > 0 && row.claimed_at !== null && (last === void 0 || last.n < row.attempt)) {
		const ended = row.finished_at ?? null;
		attempts.push({
			n: row.attempt,
			node: row.node ?? "",
			fence: row.fence,
			startedAt: row.claimed_at,
			begunAt: row.begun_at,
			endedAt: ended,
			reason: ended === null ? null : row.reason,
			error: ended === null ? null : error
		});
	}
	return attempts;
}
// packages/core/src/engines/postgres/rows.ts
/** A row as the contract has it. */
function toJobRecord(row, now) {
	return jobRecordOf(row, now, {
		leaseUntilAt: row.lease_until,
		gates: row.gates ?? [],
		slot: toSlot(row.slot, row.slot_details),
		dead: row.dead
	});
}
/** A slot from its two columns: its details can be told anew and so stand apart. */
function toSlot(slot, details) {
	return slot === null ? null : {
		...JSON.parse(slot),
		details
	};
}
// packages/core/src/engines/postgres/verbs/claim.ts
/** Jobs under lease as the contract has them. */
function toClaimedJobs(work, claimed) {
	if (Array.isArray(claimed)) return [];
	const fields = {
		...claimed,
		...claimed.columns
	};
	noteLanes(work, fields);
	return fields.id.map((id, i) => ({
		id,
		type: valueAt(fields.type, i),
		version: valueAt(fields.version, i),
		queue: valueAt(fields.queue, i),
		tenant: valueAt(fields.tenant, i),
		priority: valueAt(fields.priority, i),
		input: valueAt(fields.input, i),
		metadata: valueAt(fields.metadata, i),
		policy: work.policy(valueAt(fields.policy, i)),
		fence: valueAt(fields.fence, i),
		attempt: valueAt(fields.attempt, i),
		spent: valueAt(fields.spent, i),
		maxAttempts: valueAt(fields.maxAttempts, i),
		losses: valueAt(fields.losses, i),
		begunLosses: valueAt(fields.begunLosses, i),
		begun: valueAt(fields.begun, i) === true,
		createdAt: valueAt(fields.createdAt, i),
		dueAt: valueAt(fields.dueAt, i),
		claimedAt: valueAt(fields.claimedAt, i),
		origin: valueAt(fields.origin, i),
		slot: toSlot(valueAt(fields.slot, i), valueAt(fields.slotDetails, i)),
		parent: parentOf(valueAt(fields.parentId, i), valueAt(fields.parentKey, i)),
		cancelRequestedAt: valueAt(fields.cancelRequestedAt, i)
	}));
}
/** Jobs that were inserted as RUNNING, as the contract has them. The caller has their specs. */
function toRunningJobs(work, jobs, { fences }, now) {
	const [{ policy }] = jobs;
	const claimed = toClaimedJobs(work, { columns: {
		id: jobs.map(({ id }) => id),
		type: jobs.map(({ type }) => type),
		version: jobs.map(({ version }) => version),
		queue: jobs.map(({ queue }) => queue),
		tenant: jobs.map(({ tenant }) => tenant),
		priority: jobs.map(({ priority }) => priority),
		input: jobs.map(({ input }) => input),
		metadata: jobs.map(({ metadata }) => metadata),
		policy: policyText(policy),
		origin: jobs.map(({ origin }) => origin),
		fence: fences,
		attempt: 1,
		spent: 0,
		maxAttempts: policy.maxAttempts,
		losses: 0,
		begunLosses: 0,
		createdAt: now,
		claimedAt: now,
		dueAt: jobs.map(({ due }) => "at" in due ? due.at : now + due.inMs)
	} });
	for (const [i, { slot }] of jobs.entries()) claimed[i].slot = slot;
	return claimed;
}
function valueAt(column, i) {
	return Array.isArray(column) ? column[i] : column ?? null;
}
function noteLanes({ scanHints }, { id, type, version, queue }) {
	if (scanHints === null) return;
	const isOneLane = !(Array.isArray(type) || Array.isArray(version) || Array.isArray(queue));
	for (let i = 0; i < (isOneLane ? 1 : id.length); i++) scanHints.noteLane({
		type: valueAt(type, i),
		version: valueAt(version, i),
		queue: valueAt(queue, i)
	});
}
function parentOf(id, key) {
	return id === null ? null : {
		id,
		key
	};
}
// packages/core/src/contract/job-status.ts
/** Every status a job can have, in the order of its life. */
const jobStatuses = [
	"SCHEDULED",
	"PENDING",
	"BLOCKED",
	"RUNNING",
	"RETRYING",
	"COMPLETED",
	"FAILED",
	"CANCELLED",
	"EXPIRED"
];
const terminal = /* @__PURE__ */ new Set([
	"COMPLETED",
	"FAILED",
	"CANCELLED",
	"EXPIRED"
]);
/** Whether a job in this status is over. */
function isTerminal(status) {
	return terminal.has(status);
}
/**
* Every allowed transition, and the only place that says so: engines refuse what is not here, the conformance
* suite tries every pair that is missing, and the docs print this table.
*/
const jobTransitions = [
	{
		from: null,
		event: "created",
		to: "SCHEDULED"
	},
	{
		from: null,
		event: "created",
		to: "PENDING"
	},
	{
		from: null,
		event: "created",
		to: "BLOCKED"
	},
	{
		from: "SCHEDULED",
		event: "due",
		to: "PENDING"
	},
	{
		from: "SCHEDULED",
		event: "gate-shut",
		to: "BLOCKED"
	},
	{
		from: "BLOCKED",
		event: "gate-open",
		to: "PENDING"
	},
	{
		from: "BLOCKED",
		event: "gate-open",
		to: "SCHEDULED"
	},
	{
		from: "PENDING",
		event: "claimed",
		to: "RUNNING"
	},
	{
		from: "RETRYING",
		event: "claimed",
		to: "RUNNING"
	},
	{
		from: "RUNNING",
		event: "returned",
		to: "COMPLETED"
	},
	{
		from: "RUNNING",
		event: "failed",
		to: "RETRYING"
	},
	{
		from: "RUNNING",
		event: "failed",
		to: "FAILED"
	},
	{
		from: "RUNNING",
		event: "snoozed",
		to: "SCHEDULED"
	},
	{
		from: "RUNNING",
		event: "lost",
		to: "RETRYING"
	},
	{
		from: "RUNNING",
		event: "lost",
		to: "FAILED"
	},
	{
		from: "RUNNING",
		event: "released",
		to: "PENDING"
	},
	{
		from: "RUNNING",
		event: "cancelled",
		to: "CANCELLED"
	},
	{
		from: "SCHEDULED",
		event: "cancelled",
		to: "CANCELLED"
	},
	{
		from: "PENDING",
		event: "cancelled",
		to: "CANCELLED"
	},
	{
		from: "BLOCKED",
		event: "cancelled",
		to: "CANCELLED"
	},
	{
		from: "RETRYING",
		event: "cancelled",
		to: "CANCELLED"
	},
	{
		from: "SCHEDULED",
		event: "expired",
		to: "EXPIRED"
	},
	{
		from: "PENDING",
		event: "expired",
		to: "EXPIRED"
	},
	{
		from: "BLOCKED",
		event: "expired",
		to: "EXPIRED"
	},
	{
		from: "RETRYING",
		event: "expired",
		to: "EXPIRED"
	},
	{
		from: "PENDING",
		event: "rescheduled",
		to: "SCHEDULED"
	},
	{
		from: "FAILED",
		event: "retried",
		to: "PENDING"
	},
	{
		from: "CANCELLED",
		event: "retried",
		to: "PENDING"
	},
	{
		from: "EXPIRED",
		event: "retried",
		to: "PENDING"
	},
	{
		from: "FAILED",
		event: "retried",
		to: "BLOCKED"
	},
	{
		from: "CANCELLED",
		event: "retried",
		to: "BLOCKED"
	},
	{
		from: "EXPIRED",
		event: "retried",
		to: "BLOCKED"
	}
];
/** Every action that can be done to many jobs at once. */
const jobActions = [
	"cancel",
	"terminate",
	"retry",
	"discard",
	"delete"
];
const allowed = new Set(jobTransitions.map(({ from, to }) => `${from}>${to}`));
/** Whether a job may go from one status to another by any event at all. */
function canTransition(from, to) {
	return allowed.has(`${from}>${to}`);
}
// packages/core/src/engines/postgres/verbs/report.ts
/** What an attempt shows, as the store reads it. */
function writtenReport({ progress, logs }) {
	return {
		progress: progress === null ? null : {
			...progress,
			message: keepable(progress.message)
		},
		logs: logs.map((line) => ({
			...line,
			message: keepable(line.message)
		}))
	};
}
/** See the contract. */
async function report(work, input) {
	const reports = input.reports.map(({ id, fence, ...body }) => ({
		id,
		fence,
		...writtenReport(body)
	}));
	const { now, kept } = await work.call(statements.call.report, [
		input.now ?? null,
		JSON.stringify(reports),
		input.logLimit
	]);
	return {
		now,
		reports: kept.map((isKept) => isKept ? "kept" : "lost")
	};
}
/** See the contract. */
async function logs(work, input) {
	const rows = await work.rows(statements.job.logs, [
		input.now ?? null,
		input.id,
		input.after,
		input.limit
	]);
	const { now } = rows[0];
	return {
		now,
		lines: rows.filter(({ n }) => n !== null).map(({ n, attempt, at, level, message }) => ({
			n,
			attempt,
			at,
			level,
			message
		}))
	};
}
// packages/core/src/engines/postgres/verbs/exchange.ts
/** See the contract. */
async function exchange(work, input) {
	const { scan: scanned, ...reply } = await exchangeOnce(work, input);
	if (!(scanned?.isFull === false && reply.claimed.length === 0 && input.claim?.limit !== 0)) return reply;
	const leastMs = input.settle.length > 0 ? 1 : 0;
	const waitMs = Math.max(leastMs, work.scanHints?.waitMs() ?? 0);
	if (waitMs > 0) {
		const nextLookAt = reply.now + Math.ceil(waitMs);
		return {
			...reply,
			nextDueAt: Math.min(reply.nextDueAt ?? nextLookAt, nextLookAt)
		};
	}
	const { scan: _, ...again } = await exchangeOnce(work, input, { isFull: true });
	return again;
}
async function exchangeOnce(work, input, how = {}) {
	const { claim } = input;
	const reply = await settleAndClaim(work, input, claim === null ? null : work.scanHints?.sent(claim, how) ?? claim);
	const { now, nextDueAt, more, soloSinceAt, scan: scanned } = reply;
	const claimed = toClaimedJobs(work, reply.claimed);
	if (claim !== null) work.scanHints?.update(claim, now, scanned);
	const settled = input.settle.map(() => "done");
	for (const position of reply.lost) settled[position] = "lost";
	return {
		now,
		settled,
		claimed,
		nextDueAt,
		more,
		soloSinceAt,
		scan: scanned
	};
}
function settleAndClaim(work, input, asked) {
	const { returned, others } = sorted(input.settle);
	return work.call(statements.call.exchange, [
		input.now ?? null,
		returned === null ? null : textArray(returned.ids),
		returned === null ? null : numberArray(returned.fences),
		returned === null || returned.results.every((result) => result === null) ? null : textArray(returned.results),
		returned === null || returned.ids.length === input.settle.length ? null : numberArray(returned.positions),
		others.length === 0 ? null : JSON.stringify(others),
		asked === null ? null : JSON.stringify(asked),
		input.repeat === true
	]);
}
/** Records one outcome inside the user's transaction; a lost lease fails the whole of it. */
async function settleInTransaction(work, input) {
	const { now } = await work.call(statements.call.settleInTransaction, [input.now ?? null, JSON.stringify([writtenSettlement(input.settlement, 0)])]);
	return { now };
}
/** So few are done in their order; more that returned are ended together. */
const togetherMin = 4;
/** Most attempts return, and of these the store need not know more. The others go as they are, each with its place in the list. */
function sorted(settle) {
	const plain = settle.filter(isPlainSuccess);
	if (!(plain.length >= togetherMin || plain.length === 1 && settle.length === 1)) return {
		returned: null,
		others: settle.map(writtenSettlement)
	};
	const returned = {
		ids: [],
		fences: [],
		results: [],
		positions: []
	};
	const seen = /* @__PURE__ */ new Set();
	const others = [];
	for (const [position, one] of settle.entries()) {
		if (!isPlainSuccess(one) || seen.has(one.id)) {
			others.push(writtenSettlement(one, position));
			continue;
		}
		seen.add(one.id);
		returned.ids.push(one.id);
		returned.fences.push(one.fence);
		returned.results.push(one.result);
		returned.positions.push(position);
	}
	return {
		returned,
		others
	};
}
function isPlainSuccess({ to, reason, spends, loss, report, error }) {
	return to === "COMPLETED" && reason === "returned" && spends && loss === "none" && report === null && error === null;
}
function writtenSettlement(one, position) {
	const { id, fence, to, reason, spends, started, loss, solo, due, result, error, report } = one;
	return {
		i: position,
		id,
		fence,
		to,
		reason,
		spends,
		started,
		loss,
		result,
		...!canTransition("RUNNING", to) && { impossible: true },
		...solo !== void 0 && { solo },
		...due !== null && { due: checkedDue(due) },
		...error !== null && { error: JSON.stringify(error) },
		...report !== null && { report: writtenReport(report) }
	};
}
export { movedError as A, inSchema as C, sqlStateBehind as D, ofSet as E, DulyError as M, dulyError as N, uniqueViolation as O, isDulyError as P, eachGroup as S, notTogether as T, writtenSpec as _, writtenReport as a, isPlain as b, jobStatuses as c, toJobRecord as d, toSlot as f, slotText as g, policyText as h, report as i, transferParts as j, NotificationSet as k, toClaimedJobs as l, checkedDue as m, settleInTransaction as n, isTerminal as o, statusAt as p, logs as r, jobActions as s, exchange as t, toRunningJobs as u, numberArray as v, keepable as w, Work as x, textArray as y };
