// Receives webhooks on the port in the environment variable PORT, and prints the bookings. SECRETS has the
// signing secrets of the endpoint, separated by commas: two while one is rotated.
import { createServer, type IncomingMessage } from 'node:http';
import { SignatureError, verify } from '../src/index.js';

const { PORT = '3000', SECRETS = '' } = process.env;

async function receive(request: IncomingMessage): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const message = await verify(request.headers, Buffer.concat(parts), SECRETS.split(','));
  // A real receiver stores the message under its id, and ignores an id that it has.
  if (message.event === 'registration.created' && !message.test) {
    console.log('received', message.id, message.data.registrationId, message.data.eventTitle);
  }
}

createServer((request, response) => {
  receive(request).then(
    () => response.end(),
    (error: unknown) => response.writeHead(error instanceof SignatureError ? 401 : 500).end(),
  );
}).listen(Number(PORT), '127.0.0.1');
