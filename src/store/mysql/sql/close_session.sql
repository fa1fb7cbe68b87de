-- What it still holds counts as failed. One write ends it; what it leaves behind is swept bit by bit.
-- Returns 1, or 0: there is more to sweep, ask again.
CREATE PROCEDURE pawl_close_session(IN p_session VARBINARY(32))
BEGIN
  DECLARE v_done TINYINT;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  CALL pawl_enter();
  UPDATE pawl_session SET ends = LEAST(ends, @pawl_now), lease = 0 WHERE id = p_session;
  CALL pawl_end_session(p_session);
  SET @pawl_budget = 50;
  CALL pawl_settle_some();
  SET v_done = @pawl_budget > 0 AND NOT EXISTS (SELECT 1 FROM pawl_session WHERE id = p_session);
  CALL pawl_exit();
  SELECT v_done;
END
