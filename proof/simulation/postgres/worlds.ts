/** Simulated worlds on a real PostgreSQL: virtual time for the nodes and the store, real connections with seeded faults. */
import pg from 'pg';
import type { Clock } from '../../../packages/core/src/base/clock.ts';
import { systemClock } from '../../../packages/core/src/base/clock.ts';
import { isDulyError } from '../../../packages/core/src/base/errors.ts';
import { seededRandom } from '../../../packages/core/src/base/random.ts';
import type {
  Engine,
  EngineVerb,
  Notification,
  Reply,
  VerbCall,
} from '../../../packages/core/src/contract/engine.ts';
import { mapVerbs } from '../../../packages/core/src/contract/verbs.ts';
import { rowTypes } from '../../../packages/core/src/engines/postgres/driver.ts';
import { createPostgresEngine } from '../../../packages/core/src/engines/postgres/engine.ts';
import {
  type OpenedPostgres,
  openPostgres,
} from '../../../packages/core/src/engines/postgres/open-postgres.ts';
import type { Database } from '../../../packages/core/src/engines/postgres/work.ts';
import { type PostgresServer, startPostgres } from '../../../test/servers/postgres.ts';
import { throughPort } from '../../../test/servers/tcp-proxy.ts';
import type { OpenedWorld, WorldSetting } from '../simulate.ts';
import { FaultProxy, type NetworkFault, rowsOf } from './fault-proxy.ts';
import { drawNetwork, type Network } from './network.ts';
import { restoreState, saveState } from './reset.ts';

/** A server for worlds, one after the other. */
export interface PostgresWorlds {
  /** Opens the store of one world; one world at a time. Pass it to `simulate`. */
  open(setting: WorldSetting): Promise<OpenedWorld>;
  /** How often each fault happened. */
  readonly faults: ReadonlyMap<string, number>;
  stop(): Promise<void>;
}

const schema = 'duly';
const poolSize = 3;

/** Starts a server. `prepare` may change the store that every world starts with. */
export async function startPostgresWorlds(
  prepare: (storeUrl: string) => Promise<void> = async () => {},
): Promise<PostgresWorlds> {
  const server = await startPostgres({
    settings: {
      // A crash of the server must not lose what it confirmed.
      synchronous_commit: 'on',
      // Vacuum at arbitrary instants of real time would make a seed differ from run to run.
      autovacuum: 'off',
      shared_buffers: "'32MB'",
    },
  });
  const faults = new Map<string, number>();
  try {
    await (await open(server.url, 'create')).close();
    await prepare(`${server.url}?schema=${schema}`);
    await onServer(server.url, (client) => saveState(client, schema));
  } catch (error) {
    await server.stop();
    throw error;
  }
  return {
    faults,
    async open(setting) {
      await onServer(server.url, (client) => restoreState(client, schema));
      const world = await PostgresWorld.open(server, setting, (fault) => {
        faults.set(fault, (faults.get(fault) ?? 0) + 1);
      });
      return { ...world.opened(), close: () => world.close() };
    },
    stop: () => server.stop(),
  };
}

function open(connection: string, migrate: 'create' | 'existing'): Promise<OpenedPostgres> {
  return openPostgres({
    ...{ connection, listenUrl: null, schema, poolSize, migrate },
    // Real time: it limits how long a real call may take. Store time comes with each call.
    clock: systemClock,
    random: seededRandom(1),
  });
}

/** A call of a node that is under way. */
interface Call {
  fault: NetworkFault | null;
  /** The error of a call that was committed. */
  lost: Error | null;
  hasNotification: boolean;
}

class PostgresWorld {
  readonly #setting: WorldSetting;
  readonly #server: PostgresServer;
  readonly #network: Network;
  readonly #count: (fault: string) => void;
  readonly #clock: Clock;
  /** Reads past every fault. */
  #direct!: OpenedPostgres;
  /** Through the proxy. */
  #remote!: OpenedPostgres;
  #proxy!: FaultProxy;
  #raw!: Engine;
  readonly #engines = new Map<string, Engine>();
  readonly #listeners = new Set<(notification: Notification) => void>();
  readonly #effects = new WeakMap<Error, object>();
  #call: Call | null = null;
  #disconnectedUntilElapsed = 0;
  #isRefusing = false;
  #isHalted = false;
  #operation: Promise<void> = Promise.resolve();

  static async open(
    server: PostgresServer,
    setting: WorldSetting,
    count: (fault: string) => void,
  ): Promise<PostgresWorld> {
    const self = new PostgresWorld(server, setting, count);
    self.#direct = await open(server.url, 'existing');
    self.#raw = createPostgresEngine({ ...self.#direct, clock: self.#clock });
    self.#proxy = await FaultProxy.start({
      targetPort: server.port,
      faultOf: () => self.#faultOfRequest(),
      crash: () => self.#crash(),
    });
    self.#remote = await open(throughPort(server.url, self.#proxy.port), 'existing');
    return self;
  }

  private constructor(server: PostgresServer, setting: WorldSetting, count: (fault: string) => void) {
    const { world, script } = setting;
    this.#server = server;
    this.#setting = setting;
    this.#count = count;
    this.#network = drawNetwork(script);
    this.#clock = world.clockOf({ name: 'store', isDead: false, isPaused: false, wallOffsetMs: 0 });
  }

  opened(): Omit<OpenedWorld, 'close'> {
    const self = this;
    return {
      raw: this.#raw,
      disconnectedUntilElapsed: () => this.#disconnectedUntilElapsed,
      store: {
        engine: this.#engineOf(''),
        engineOf: (node) => this.#engineOf(node),
        effectOf: (error) => (error instanceof Error ? (this.#effects.get(error) ?? null) : null),
        get isRefusing() {
          // The outage is real: the wire sends, and the connection fails.
          return false;
        },
        set isRefusing(isRefusing) {
          self.#refuse(isRefusing);
        },
        user: null,
      },
    };
  }

  async close(): Promise<void> {
    this.#refuse(false);
    await this.#operation;
    for (const engine of this.#engines.values()) await engine.close();
    await this.#remote.close();
    await this.#proxy.stop();
    await this.#direct.close();
  }

  // ------------------------------------------------------------------------------------------------ calls

  /** The engine of one node: it shares the connections with the others, and has its own claim scan hints. */
  #engineOf(node: string): Engine {
    const known = this.#engines.get(node);
    if (known !== undefined) return known;
    const inner = createPostgresEngine({
      ...this.#remote,
      clock: this.#clock,
      database: this.#tapped(this.#remote.database),
      notify: (notifications) => this.#deliver(notifications),
      subscribe: (listener) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
      probe: async () => {},
      close: async () => {},
    });
    const call = (verb: EngineVerb): VerbCall => {
      const send = (inner[verb] as VerbCall).bind(inner);
      return (input) => this.#held(this.#send(node, verb, send, input));
    };
    const engine = { ...inner, ...mapVerbs(call) };
    this.#engines.set(node, engine);
    return engine;
  }

  /** Time stands still until the call has settled. */
  #held<Value>(promise: Promise<Value>): Promise<Value> {
    this.#setting.world.hold(promise.catch(() => {}));
    return promise;
  }

  async #send(node: string, verb: EngineVerb, send: VerbCall, input: never): Promise<Reply> {
    if (this.#call !== null) this.#fail(new Error(`"${verb}" was sent while another call was under way.`));
    const { world, write } = this.#setting;
    const call: Call = { fault: this.#network.faultAt(world.elapsed), lost: null, hasNotification: false };
    const fault = (name: string, whose: string, forMs: number): void => {
      const at = world.storeAt();
      const detail = `${verb}: ${call.fault}`;
      write({ kind: 'fault', at, node: whose, fault: name, untilAt: at + forMs, detail });
    };
    this.#call = call;
    if (call.fault !== null) this.#count(call.fault);
    try {
      const reply = await send(input);
      if (call.lost === null) return reply;
      this.#effects.set(call.lost, reply);
      throw call.lost;
    } catch (error) {
      if (call.fault !== null) fault('reply-lost', node, replyLostMs);
      if (call.hasNotification) {
        fault('notifications-lost', '*', notificationsLostMs);
        this.#disconnectedUntilElapsed = world.elapsed + notificationsLostMs;
      }
      throw error;
    } finally {
      this.#call = null;
    }
  }

  #faultOfRequest(): NetworkFault | null {
    return this.#call?.fault ?? null;
  }

  /**
   * Returns the rows of a statement that was committed although its reply was lost. So the verb computes its true reply for the history;
   * the node gets the error.
   */
  #tapped(database: Database): Database {
    return {
      query: async <Row extends object>(
        text: string,
        values?: readonly (string | number | boolean | null)[],
      ) => {
        const call = this.#call;
        // The engine would have stopped at the error.
        if (call?.lost != null) throw call.lost;
        this.#proxy.last = null;
        try {
          return await database.query<Row>(text, values);
        } catch (error) {
          const { reply = null } = (this.#proxy.last as FaultProxy['last']) ?? {};
          const rows = reply === null ? null : rowsOf(reply, rowTypes);
          if (rows === null || call === null || isServerError(error)) throw error;
          if (!isDulyError(error, 'store_unavailable') || error.details.unknown !== true)
            this.#fail(
              new Error('The engine reported that nothing was kept, and the call took effect.', {
                cause: error,
              }),
            );
          call.lost = error as Error;
          return rows as Row[];
        }
      },
      transaction: (fn) => database.transaction(fn),
    };
  }

  #deliver(notifications: Iterable<Notification>): void {
    if (this.#call?.lost != null) {
      this.#call.hasNotification = true;
      return;
    }
    for (const notification of notifications)
      for (const listener of [...this.#listeners]) listener(notification);
  }

  /** Ends the world with an error of the harness or of the engine's reports. */
  #fail(error: Error): void {
    this.#setting.world.hold(Promise.reject(error));
  }

  // ---------------------------------------------------------------------------------------------- outages

  #refuse(isRefusing: boolean): void {
    if (this.#isRefusing === isRefusing) return;
    this.#isRefusing = isRefusing;
    if (isRefusing && this.#network.isCrash()) {
      this.#count('outage by a crash');
      this.#isHalted = true;
      this.#operate(this.#server.halt('immediate'));
    } else if (!isRefusing && this.#isHalted) {
      this.#isHalted = false;
      this.#operate(this.#server.restart());
    } else {
      if (isRefusing) this.#count('outage');
      this.#proxy.isDown = isRefusing;
    }
  }

  async #crash(): Promise<void> {
    const crash = this.#server.halt('immediate').then(() => this.#server.restart());
    this.#operate(crash);
    await crash;
  }

  /** Time stands still until the server has stopped or started. */
  #operate(operation: Promise<void>): void {
    this.#operation = operation;
    this.#setting.world.hold(operation);
  }
}

// As on the simulated wire: within this time the node has sent the call again.
const replyLostMs = 2_000;
// A node that no notification reaches polls after this time.
const notificationsLostMs = 31_000;

function isServerError(error: unknown): boolean {
  return isDulyError(error) && typeof error.details.sqlState === 'string';
}

async function onServer(url: string, use: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    await use(client);
  } finally {
    await client.end();
  }
}
