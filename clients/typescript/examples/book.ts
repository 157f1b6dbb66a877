// Creates a customer and books the next class that has a free spot.
import { interfaceB, ReservationError } from '../src/index.js';

const { B = '', API_KEY = '', API_SECRET = '' } = process.env;
const b = interfaceB(B, { apiKey: API_KEY, apiSecret: API_SECRET });

const customer = await b.post('/customers', { body: { firstName: 'Zoë', lastName: 'Núñez', email: 'zoe@example.com' } });
for await (const date of b.list('/event-dates', { query: { startsFrom: new Date().toISOString(), type: 'class', available: true } })) {
  try {
    const order = await b.post('/transactions', {
      body: { purchasedById: customer.id, lines: [{ eventDateId: date.id }], payment: { method: 'CARD', reference: 'pi_1' } },
    });
    console.log('booked', date.title, date.startsAt, order.registrations[0]?.id);
    break;
  } catch (error) {
    if (!(error instanceof ReservationError && error.code === 'EVENT_FULL')) throw error; // somebody else was faster
  }
}
