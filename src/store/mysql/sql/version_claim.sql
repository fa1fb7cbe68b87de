-- The `version` scheme, second step: takes the lock if its version is still the one that was read, and else changes nothing.
-- p_version: that was read; empty: there was no row. The version grows whenever the lock is taken or freed: pawl_drop().
-- Returns one row, as pawl_claim.
CREATE PROCEDURE pawl_version_claim(
  IN p_claim VARBINARY(32), IN p_session VARBINARY(32), IN p_lock VARBINARY(255), IN p_name BLOB, IN p_lease BIGINT,
  IN p_delay BIGINT, IN p_may_queue TINYINT, IN p_label BLOB, IN p_version VARBINARY(20))
BEGIN
  DECLARE v_what VARBINARY(16);
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL pawl_enter();
  CALL pawl_known(p_claim, p_session, p_lock, v_what);
  IF v_what IN ('', 'waiting') THEN
    IF p_version = '' THEN
      -- Larger than all versions that this row has had before.
      INSERT IGNORE INTO pawl_version VALUES (p_lock, @pawl_counter, p_claim);
    ELSE
      UPDATE pawl_version SET version = version + 1, claim = p_claim
        WHERE lock_name = p_lock AND version = p_version AND claim = '';
    END IF;
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
