-- A claim leaves. p_failed: since when its holder has failed; NULL: it leaves cleanly. pawl_settle_some() must follow.
CREATE PROCEDURE pawl_leave(IN p_claim VARBINARY(32), IN p_failed BIGINT)
BEGIN
  DECLARE v_lock VARBINARY(255);
  DECLARE v_next, v_session VARBINARY(32);
  DECLARE v_state TINYINT;
  DECLARE v_delay BIGINT;
  DECLARE v_ticket BIGINT UNSIGNED;
  SELECT lock_id, state, delay, ticket INTO v_lock, v_state, v_delay, v_ticket FROM pawl_claim WHERE id = p_claim;
  IF v_state = 1 AND LOCATE('/election:', v_lock) > 0 THEN
    UPDATE pawl_reign SET till = COALESCE(p_failed, @pawl_now) WHERE lock_id = v_lock AND till = 0;
  END IF;
  IF v_state = 0 AND (SUBSTRING_INDEX(v_lock, '/', 1) NOT LIKE '%~%' OR SUBSTRING_INDEX(v_lock, '/', 1) LIKE '%~unique') THEN
    -- The next one behind it has looked at its end: now it must see whom it waits for. Or this one was told to try, and has not.
    SELECT id, session INTO v_next, v_session FROM pawl_claim
      WHERE lock_id = v_lock AND state = 0 AND ticket > v_ticket ORDER BY ticket LIMIT 1;
    IF v_next IS NOT NULL THEN
      CALL pawl_tell(v_next, v_session, 'again', 0, 0);
    END IF;
  END IF;
  IF v_state = 1 AND v_delay > 0 AND p_failed + v_delay > @pawl_now THEN
    UPDATE pawl_claim SET state = 2, until = p_failed + v_delay, session = '' WHERE id = p_claim;
    INSERT IGNORE INTO pawl_unsettled VALUES (v_lock);
  ELSE
    CALL pawl_drop(p_claim);
  END IF;
END
