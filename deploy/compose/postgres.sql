-- The services' roles connect to their own databases only; migrate sees to those.
revoke connect on database postgres, template1 from public;
