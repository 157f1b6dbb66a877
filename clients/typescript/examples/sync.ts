// Writes all customers to standard output, one JSON object a line, or only those that have changed since
// the time in the environment variable SINCE.
import { interfaceB } from '../src/index.js';

const { B = '', API_KEY = '', API_SECRET = '', SINCE } = process.env;
const b = interfaceB(B, { apiKey: API_KEY, apiSecret: API_SECRET });

for await (const customer of b.list('/customers', { query: { updatedSince: SINCE } })) console.log(JSON.stringify(customer));
