-- From exclusive to shared, with the same token; readers who wait come in. Returns 1, or 0 unless the claim holds its lock.
CREATE PROCEDURE pawl_downgrade(IN p_claim VARBINARY(32), IN p_session VARBINARY(32), IN p_lock VARBINARY(255))
BEGIN
  DECLARE v_done TINYINT;
  DECLARE v_ended TINYINT DEFAULT 0;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL pawl_enter();
  IF @pawl_left THEN
    CALL pawl_mark(p_session, v_ended);
  END IF;
  SET v_done = NOT v_ended
    AND EXISTS (SELECT 1 FROM pawl_claim WHERE id = p_claim AND session = p_session AND lock_id = p_lock AND state = 1);
  IF v_done THEN
    UPDATE pawl_claim SET shared = 1 WHERE id = p_claim;
    CALL pawl_settle(p_lock);
  END IF;
  CALL pawl_exit();
  SELECT v_done;
END
