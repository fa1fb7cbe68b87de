-- What it still holds counts as failed since p_at. pawl_settle_some() must follow.
CREATE PROCEDURE pawl_end_session(IN p_session VARBINARY(32), IN p_at BIGINT)
BEGIN
  DECLARE v_claim VARBINARY(32);
  INSERT IGNORE INTO pawl_unsettled SELECT DISTINCT lock_id FROM pawl_claim WHERE session = p_session;
  UPDATE pawl_reign r JOIN pawl_claim c ON c.lock_id = r.lock_id AND c.epoch = r.epoch AND c.counter = r.counter
    SET r.till = p_at WHERE c.session = p_session AND c.state = 1;
  UPDATE pawl_claim SET state = 2, until = p_at + delay, session = ''
    WHERE session = p_session AND state = 1 AND delay > 0 AND p_at + delay > @pawl_now;
  -- Those with permits, and those of the other schemes, one by one.
  takers: LOOP
    SET v_claim = (SELECT id FROM pawl_claim
                     WHERE session = p_session AND (slots <> '' OR (state = 1 AND SUBSTRING_INDEX(lock_id, '/', 1) LIKE '%~%'))
                     LIMIT 1);
    IF v_claim IS NULL THEN
      LEAVE takers;
    END IF;
    CALL pawl_drop(v_claim);
  END LOOP;
  DELETE FROM pawl_claim WHERE session = p_session;
  DELETE FROM pawl_mail WHERE session = p_session;
  DELETE FROM pawl_tombstone WHERE session = p_session;
  DELETE FROM pawl_session WHERE id = p_session;
END
