// A receiver of webhooks. It serves plain HTTP, so put a proxy with TLS in front of it.
//
//   WEBHOOK_SECRETS=whsec_… PORT=3000 node receiver.mjs
import { createServer } from 'node:http';
import { verifyToken } from './verify.mjs';

const secrets = process.env.WEBHOOK_SECRETS.split(' ');
const seen = new Set(); // keep these in your database, in the transaction that does the work

createServer(async (req, res) => {
  const chunks = [];
  let size = 0;
  for await (const chunk of req) {
    size += chunk.length;
    if (size > 1 << 20) return res.writeHead(413).end();
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks); // the received bytes: a body that was parsed and written again does not verify
  if (!verifyToken(req.headers, body, secrets)) return res.writeHead(401).end('the signature is not valid');
  const { id, event, test, data } = JSON.parse(body);
  if (!seen.has(id) && !test) console.log(event, data); // put it in a queue: answer first, work later
  seen.add(id);
  res.writeHead(204).end();
}).listen(Number(process.env.PORT), '127.0.0.1');
