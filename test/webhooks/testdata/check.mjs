// Prints what the JavaScript example makes of the vectors on standard input.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const { verifyToken, verifyStandard } = await import(pathToFileURL(process.argv[2]));
const verdicts = {};
for (const v of JSON.parse(readFileSync(0)).vectors) {
  const headers = Object.fromEntries(Object.entries(v.headers).map(([name, value]) => [name.toLowerCase(), value]));
  const body = Buffer.from(v.body);
  verdicts[v.name] = [verifyToken(headers, body, v.secrets, v.time), verifyStandard(headers, body, v.secrets, v.time)];
}
console.log(JSON.stringify(verdicts));
