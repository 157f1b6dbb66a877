// Runs the script of a collection like Postman: before a request, again, with other credentials, and
// after the token has expired. Prints the requests for tokens.
import { readFileSync } from 'node:fs';

const [, , file, idName, secretName] = process.argv;
const script = JSON.parse(readFileSync(file)).event[0].script.exec.join('\n');
const variables = new Map([['base', 'http://base'], [idName, 'id-1'], [secretName, 'secret-1']]);
const stored = { get: (name) => variables.get(name), set: (name, value) => variables.set(name, value) };
const requests = [];
let now = 0;

function run(path) {
  const pm = {
    variables: stored,
    collectionVariables: stored,
    request: { url: { getPath: () => path } },
    sendRequest(request, done) {
      requests.push({ url: request.url, body: JSON.parse(request.body.raw) });
      const token = `token-${requests.length}`;
      done(null, { code: 200, json: () => ({ token, expiresIn: 3600, access_token: token, expires_in: 3600 }) });
    },
  };
  new Function('pm', 'Date', script)(pm, { now: () => now });
}

run('/auth/token');
run('/customers');
run('/customers');
variables.set(idName, 'id-2');
run('/customers');
now = 3299999;
run('/customers');
now = 3300000;
run('/customers');
console.log(JSON.stringify({ requests, token: variables.get('token') }));
