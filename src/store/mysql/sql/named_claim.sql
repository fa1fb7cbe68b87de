-- The `named` scheme: GET_LOCK takes the lock for this connection. The token is committed before the claim hears of it.
-- Its release is RELEASE_ALL_LOCKS(); the record follows later: pawl_forget().
-- p_key: by which name; taken twice by a connection it is taken all the same. Returns one row, as pawl_claim.
CREATE PROCEDURE pawl_named_claim(
  IN p_claim VARBINARY(32), IN p_session VARBINARY(32), IN p_lock VARBINARY(255), IN p_name BLOB, IN p_lease BIGINT,
  IN p_delay BIGINT, IN p_may_queue TINYINT, IN p_label BLOB, IN p_key VARBINARY(64))
BEGIN
  DECLARE v_got TINYINT DEFAULT COALESCE(GET_LOCK(CONVERT(p_key USING ascii), 0), 0);
  IF v_got THEN
    -- By the claim's own name as well, so that it is seen to be free although another claim has p_key by then: pawl_check().
    DO GET_LOCK(CONCAT('pawl.', CONVERT(p_claim USING ascii)), 0);
  END IF;
  CALL pawl_record(p_claim, p_session, p_lock, p_name, p_lease, p_delay, p_may_queue, p_label, v_got, '');
END
