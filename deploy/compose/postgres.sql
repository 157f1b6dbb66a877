-- The services' roles can connect only to their own databases. migrate restricts those;
-- this restricts PostgreSQL's default databases.
revoke connect on database postgres, template1 from public;
