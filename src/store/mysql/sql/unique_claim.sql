-- The `unique` scheme: the unique index on a lock's name lets one INSERT in. The row is deleted by its owner's release, or with
-- its owner's session when that has ended: pawl_drop().
-- Returns one row, as pawl_claim.
CREATE PROCEDURE pawl_unique_claim(
  IN p_claim VARBINARY(32), IN p_session VARBINARY(32), IN p_lock VARBINARY(255), IN p_name BLOB, IN p_lease BIGINT,
  IN p_delay BIGINT, IN p_may_queue TINYINT, IN p_label BLOB)
BEGIN
  DECLARE v_what VARBINARY(16);
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL pawl_enter();
  CALL pawl_known(p_claim, p_session, p_lock, v_what);
  IF v_what IN ('', 'waiting') THEN
    INSERT IGNORE INTO pawl_unique VALUES (p_lock, p_claim);
    IF ROW_COUNT() = 1 THEN
      CALL pawl_hold(p_claim, p_session, p_lock, p_name, p_delay, p_label);
      SET v_what = 'granted';
    ELSE
      IF v_what = '' AND p_may_queue THEN
        CALL pawl_wait(p_claim, p_session, p_lock, p_name, p_delay, p_label);
      END IF;
      SET v_what = 'waiting';
    END IF;
  END IF;
  CALL pawl_exit();
  CALL pawl_answer(v_what, p_claim, p_lock, p_lease);
END
