/** Where alerts are told, as it is kept. */
export type AlertChannelValue =
  | { kind: 'webhook'; url: string; note: string | null }
  | { kind: 'slack'; url: string; note: string | null }
  | { kind: 'email'; to: readonly string[]; note: string | null }
  | { kind: 'command'; argv: readonly string[]; note: string | null };

/** Where alerts are told. */
export type AlertChannel = AlertChannelValue & { id: string };
