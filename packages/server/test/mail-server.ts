/** A mail server that speaks enough SMTP to take a message, and keeps it. */

import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

/** A message as it was sent. */
export interface Mail {
  from: string;
  to: string[];
  text: string;
}

/** Starts one on loopback. */
export async function startMailServer(
  t: TestContext,
): Promise<{ url: string; mails: Mail[]; next(): Promise<Mail> }> {
  const mails: Mail[] = [];
  const waiting: ((mail: Mail) => void)[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let mail: Mail = { from: '', to: [], text: '' };
    let isData = false;
    let rest = '';
    const say = (line: string): boolean => socket.write(`${line}\r\n`);
    say('220 test');
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = `${rest}${chunk}`.split('\r\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (isData && line === '.') {
          isData = false;
          mails.push(mail);
          waiting.shift()?.(mail);
          mail = { from: '', to: [], text: '' };
          say('250 taken');
        } else if (isData) mail.text += `${line}\n`;
        else if (/^MAIL FROM/i.test(line)) {
          mail.from = /<(.*?)>/.exec(line)?.[1] ?? '';
          say('250 ok');
        } else if (/^RCPT TO/i.test(line)) {
          mail.to.push(/<(.*?)>/.exec(line)?.[1] ?? '');
          say('250 ok');
        } else if (/^DATA/i.test(line)) {
          isData = true;
          say('354 go on');
        } else if (/^QUIT/i.test(line)) {
          say('221 bye');
          socket.end();
        } else say('250 ok');
      }
    });
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mails,
    next: () => new Promise((resolve) => waiting.push(resolve)),
  };
}
