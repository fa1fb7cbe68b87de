-- Of schemes whose lock is a connection's own: p_got tells whether the claim's connection has it. Then it is recorded as the
-- holder, with a token, and a holder before it has the lock no more. Else it is recorded as waiting.
-- p_mark: names the user lock of that connection, where this is called on another one; else ''. A call may come late: the
-- connection may have ended by now, and its lock may be another's.
-- Returns one row, as pawl_claim.
CREATE PROCEDURE pawl_record(
  IN p_claim VARBINARY(32), IN p_session VARBINARY(32), IN p_lock VARBINARY(255), IN p_name BLOB, IN p_lease BIGINT,
  IN p_delay BIGINT, IN p_may_queue TINYINT, IN p_label BLOB, IN p_got TINYINT, IN p_mark VARBINARY(32))
BEGIN
  DECLARE v_what VARBINARY(16);
  DECLARE v_before, v_session VARBINARY(32);
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL pawl_enter();
  IF p_mark <> '' THEN
    SET p_got = p_got AND IS_USED_LOCK(CONCAT('pawl.', CONVERT(p_mark USING ascii))) IS NOT NULL;
  END IF;
  CALL pawl_known(p_claim, p_session, p_lock, v_what);
  IF v_what IN ('', 'waiting') AND p_got THEN
    earlier: LOOP
      SET v_before = NULL;
      SELECT id, session INTO v_before, v_session FROM pawl_claim WHERE lock_id = p_lock AND state = 1 LIMIT 1;
      IF v_before IS NULL THEN
        LEAVE earlier;
      END IF;
      -- Its client knows: its connection is gone, or has freed the lock.
      DELETE FROM pawl_mail WHERE session = v_session AND claim = v_before;
      CALL pawl_drop(v_before);
    END LOOP;
    CALL pawl_hold(p_claim, p_session, p_lock, p_name, p_delay, p_label);
    SET v_what = 'granted';
  ELSEIF v_what IN ('', 'waiting') THEN
    IF v_what = '' AND p_may_queue THEN
      CALL pawl_wait(p_claim, p_session, p_lock, p_name, p_delay, p_label);
    END IF;
    SET v_what = 'waiting';
  END IF;
  CALL pawl_exit();
  CALL pawl_answer(v_what, p_claim, p_lock, p_lease);
END
