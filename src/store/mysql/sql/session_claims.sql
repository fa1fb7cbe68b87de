-- The claims of a session, for its client to see which of them it knows: rows of claim, lock.
CREATE PROCEDURE pawl_session_claims(IN p_session VARBINARY(32))
BEGIN
  SELECT id, lock_id FROM pawl_claim WHERE session = p_session;
END
