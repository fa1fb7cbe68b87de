-- Some of the claims of a session, for its client to see which of them it knows: rows of claim, lock, five hundred at the most,
-- those behind p_after ('': from the first one).
CREATE PROCEDURE pawl_session_claims(IN p_session VARBINARY(32), IN p_after VARBINARY(32))
BEGIN
  SELECT id, lock_id FROM pawl_claim WHERE session = p_session AND id > p_after ORDER BY id LIMIT 500;
END
