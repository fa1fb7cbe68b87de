-- Asks the holder to let go, or takes the claim away (p_now). Returns 1, or 0: no such claim.
CREATE PROCEDURE pawl_revoke(IN p_claim VARBINARY(32), IN p_lock VARBINARY(255), IN p_now TINYINT)
BEGIN
  DECLARE v_session VARBINARY(32);
  DECLARE v_state TINYINT;
  DECLARE v_ended TINYINT DEFAULT 0;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL pawl_enter();
  SELECT session, state INTO v_session, v_state FROM pawl_claim WHERE id = p_claim AND lock_id = p_lock AND session <> '';
  IF @pawl_left AND v_session IS NOT NULL THEN
    CALL pawl_mark(v_session, v_ended);
  END IF;
  IF v_ended THEN
    SET v_session = NULL;
  ELSEIF v_session IS NOT NULL AND p_now THEN
    -- Its notice may be lost, and then its client claims again: that must not put it back into the queue.
    INSERT IGNORE INTO pawl_tombstone VALUES (v_session, p_claim);
    CALL pawl_tell(p_claim, v_session, 'gone', 0, 0);
    CALL pawl_leave(p_claim, NULL);
    CALL pawl_settle(p_lock);
  ELSEIF v_state = 1 THEN
    UPDATE pawl_claim SET asked = 1 WHERE id = p_claim;
    CALL pawl_tell(p_claim, v_session, 'asked', 0, 0);
  ELSE
    SET v_session = NULL;
  END IF;
  CALL pawl_exit();
  SELECT v_session IS NOT NULL;
END
