-- The functions that the other files share. The settings volume.company and volume.customers are the company's
-- UUID and the number of customers.

create function pg_temp.company() returns uuid language sql stable
    return current_setting('volume.company')::uuid;

create function pg_temp.customers() returns bigint language sql stable
    return current_setting('volume.customers')::bigint;

-- identifier makes a UUID with a time, as the services do. kind and n make it unique.
create function pg_temp.identifier(at timestamptz, kind integer, n bigint) returns uuid language sql immutable
    return (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(kind), 3, '0')
        || '8' || lpad(to_hex(n), 15, '0'))::uuid;

create function pg_temp.joined(n bigint) returns timestamptz language sql immutable
    return timestamptz '2021-01-04 09:00:00+00' + n * interval '20 minutes';

create function pg_temp.customer(n bigint) returns uuid language sql immutable
    return pg_temp.identifier(pg_temp.joined(n), 1, n);

create function pg_temp.pass(n bigint) returns uuid language sql immutable
    return pg_temp.identifier(pg_temp.joined(n), 2, n);

-- Common names, so that a search finds many: every fortieth customer is a Smith.
create function pg_temp.first_name(n bigint) returns text language sql immutable
    return (array['Olivia', 'Amelia', 'Isla', 'Ava', 'Mia', 'Ivy', 'Lily', 'Freya', 'Grace', 'Emily', 'Zoë', 'Chloé', 'Noah', 'George', 'Oliver',
        'Arthur', 'Leo', 'Oscar', 'Theodore', 'Jack', 'Harry', 'Maria', 'Anna', 'Sofia', 'Lucía', 'Jürgen', 'Søren', 'Siân', 'Aoife', 'Mary'])[1 + n % 30];

create function pg_temp.last_name(n bigint) returns text language sql immutable
    return (array['Smith', 'Jones', 'Taylor', 'Brown', 'Williams', 'Wilson', 'Johnson', 'Davies', 'Patel', 'Robinson', 'Wright', 'Thompson', 'Evans',
        'Walker', 'White', 'Roberts', 'Green', 'Hall', 'Wood', 'Jackson', 'Clarke', 'O''Brien', 'Núñez', 'Müller', 'Ångström', 'Łukasiewicz',
        'Fernández de Córdoba', 'Nguyen', 'Khan', 'Begum', 'Hussain', 'Ali', 'Singh', 'Kaur', 'Murphy', 'Kelly', 'Ryan', 'Byrne', 'Walsh', 'Doyle'])[1 + (n / 30) % 40];

create function pg_temp.email(n bigint) returns text language sql immutable
    return 'customer.' || n || '@example.com';
