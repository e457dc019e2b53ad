/** How e-mail is sent. */
export interface SmtpOptions {
  /** `smtp://user:password@mail.example.com:587`, or `smtps://…`. */
  url: string;
  /** The sender: `Duly <duly@example.com>`. */
  from: string;
}

/** Sends e-mail. */
export interface Mailer {
  send(mail: { to: readonly string[]; subject: string; text: string }): Promise<void>;
  close(): void;
}

// A mail server that does not answer must not keep an attempt until its timeout.
const patienceMs = 15_000;

/** Makes one. The mail server is the operator's own choice, given at the start, so it is not checked as addresses of others are. */
export function createMailer({ url, from }: SmtpOptions): Mailer {
  // Loaded when the first alert goes out by mail: most servers never send one.
  const opening = async () => {
    const { createTransport } = await import('nodemailer');
    return createTransport(
      { url, connectionTimeout: patienceMs, greetingTimeout: patienceMs, socketTimeout: patienceMs },
      { from },
    );
  };
  let transport: ReturnType<typeof opening> | null = null;
  return {
    async send({ to, subject, text }) {
      transport ??= opening();
      await (await transport).sendMail({ to: [...to], subject, text });
    },
    close() {
      void transport?.then((one) => one.close());
    },
  };
}
