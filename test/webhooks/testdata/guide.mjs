// Prints what verify of the given file makes of the vectors on standard input.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const { verify } = await import(pathToFileURL(process.argv[2]));
const verdicts = {};
for (const v of JSON.parse(readFileSync(0)).vectors) {
  const headers = Object.fromEntries(Object.entries(v.headers).map(([name, value]) => [name.toLowerCase(), value]));
  verdicts[v.name] = v.secrets.some((secret) => verify(headers, Buffer.from(v.body), secret, v.time));
}
console.log(JSON.stringify(verdicts));
